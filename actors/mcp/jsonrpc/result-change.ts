// Translates results between the protocol eras (legacy: sessions, modern: stateless requests). A change is
// defined once and applied to every response. A text search finds results without the changed members; these
// are not parsed. The other members remain unchanged, byte for byte. Errors and results that are no objects
// remain unchanged.

import type { Envelope } from './envelope.ts';
import {
  addFirst,
  type Changes,
  changeMembers,
  changeParsedMembers,
  membersOf,
  rawMembers,
} from './members.ts';
import { type Edit, rawOf } from './span.ts';

const BRACE = 0x7b;
/** Start of an escape, which could encode any key. Results with an escape are scanned. */
const UNICODE_ESCAPE = '\\u';
/** Maximum size of results that are searched as text, in bytes; larger ones are searched as bytes. */
const SMALL_BYTES = 2_048;

export class ResultChange {
  readonly #members: Changes;
  readonly #meta: Changes;
  readonly #rawMembers: string;
  /** Like `#members`, for results without an object as `_meta`. */
  readonly #withMeta: Changes;
  readonly #rawWithMeta: string;
  /** Texts to search for. A result without them contains no changed member. */
  readonly #searchTexts: readonly string[];

  /** `members` are changes of the result, `meta` changes in `_meta`. */
  constructor(members: Changes, meta: Changes) {
    this.#members = members;
    this.#meta = meta;
    this.#rawMembers = rawMembers(members);
    const rawMeta = rawMembers(meta);
    this.#withMeta = rawMeta === '' ? members : { ...members, _meta: `{${rawMeta}}` };
    this.#rawWithMeta = rawMembers(this.#withMeta);
    const keys = ['_meta', ...Object.keys(members)];
    this.#searchTexts = [...keys.map((key) => JSON.stringify(key)), UNICODE_ESCAPE];
  }

  /** Returns the edits for a response. */
  edits(answer: Envelope): Edit[] {
    const { bytes, result } = answer;
    if (result === undefined || bytes[result.start] !== BRACE) return [];
    const searchText = result.end - result.start > SMALL_BYTES ? bytes : rawOf(bytes, result);
    if (!this.#searchTexts.some((wanted) => searchText.includes(wanted)))
      return this.#rawWithMeta === '' ? [] : [addFirst(bytes, result, this.#rawWithMeta)];
    const resultMembers = membersOf(bytes, result);
    const own = resultMembers.find(({ key }) => key === '_meta')?.value;
    if (own === undefined || bytes[own.start] !== BRACE)
      return changeParsedMembers(result, resultMembers, this.#withMeta, this.#rawWithMeta);
    const edits = changeMembers(bytes, own, this.#meta);
    edits.push(...changeParsedMembers(result, resultMembers, this.#members, this.#rawMembers));
    return edits;
  }
}
