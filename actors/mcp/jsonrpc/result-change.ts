// What changes in every result of a kind on its way into the other era: said once, and good for all calls. Most results
// hold none of what is replaced or taken out, and are not looked through.
//
// RC1  beyond those members a result stays as it was received, byte for byte; an error, and a result that is no object, too.

import type { Envelope } from './envelope.ts';
import { addFirst, type Changes, changeFound, changeMembers, membersOf, rawMembers } from './members.ts';
import { type Edit, rawOf } from './span.ts';

const BRACE = 0x7b;
/** Any key may be spelled with these. */
const UNICODE_ESCAPE = '\\u';
/** Up to here to look through a copy as text costs less than to search the bytes for each mark. */
const SMALL_BYTES = 2_048;

export class ResultChange {
  readonly #members: Changes;
  readonly #meta: Changes;
  readonly #rawMembers: string;
  /** As `#members`, for a result without a `_meta` that could be changed. */
  readonly #withMeta: Changes;
  readonly #rawWithMeta: string;
  /** Where none of these stands, there is nothing to replace. */
  readonly #marks: readonly string[];

  /** Members of the result itself, and of its `_meta`. */
  constructor(members: Changes, meta: Changes) {
    this.#members = members;
    this.#meta = meta;
    this.#rawMembers = rawMembers(members);
    const rawMeta = rawMembers(meta);
    this.#withMeta = rawMeta === '' ? members : { ...members, _meta: `{${rawMeta}}` };
    this.#rawWithMeta = rawMembers(this.#withMeta);
    const keys = ['_meta', ...Object.keys(members)];
    this.#marks = [...keys.map((key) => JSON.stringify(key)), UNICODE_ESCAPE];
  }

  /** Edits of the answer. */
  edits(answer: Envelope): Edit[] {
    const { bytes, result } = answer;
    if (result === undefined || bytes[result.start] !== BRACE) return [];
    const searched = result.end - result.start > SMALL_BYTES ? bytes : rawOf(bytes, result);
    if (!this.#marks.some((mark) => searched.includes(mark)))
      return this.#rawWithMeta === '' ? [] : [addFirst(bytes, result, this.#rawWithMeta)];
    const found = membersOf(bytes, result);
    const own = found.find(({ key }) => key === '_meta')?.value;
    if (own === undefined || bytes[own.start] !== BRACE)
      return changeFound(result, found, this.#withMeta, this.#rawWithMeta);
    const edits = changeMembers(bytes, own, this.#meta);
    edits.push(...changeFound(result, found, this.#members, this.#rawMembers));
    return edits;
  }
}
