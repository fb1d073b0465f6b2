// Invisible marks in outbound messages, for platforms whose messages can be searched. A retry searches for
// the mark, to find a message that an earlier attempt has posted. The gateway also recognises its own
// messages by their marks. A mark contains only a hash, so that it does not reveal the trigger's name.

import { createHash } from 'node:crypto';

/** Creates and recognises marks, in a syntax that the platform does not show. */
export class ResendMarks {
  readonly #begin: string;
  readonly #end: string;
  readonly #replacement: string;

  /**
   * `begin` is the start of every mark and occurs in no other text of the gateway. `replacement` replaces
   * `begin` in texts of agents, which must contain no mark.
   */
  constructor({
    begin,
    end,
    replacement,
  }: {
    readonly begin: string;
    readonly end: string;
    readonly replacement: string;
  }) {
    this.#begin = begin;
    this.#end = end;
    this.#replacement = replacement;
  }

  /** Returns the outbox row's mark, which is stable across attempts. */
  markFor(rowId: string): string {
    return `${this.#begin}${createHash('sha256').update(rowId).digest('hex').slice(0, 32)}${this.#end}`;
  }

  /** Returns whether a gateway wrote the text. */
  isMarked(text: string): boolean {
    return text.includes(this.#begin);
  }

  /** Returns the text with `begin` of all marks replaced. */
  withoutMarks(text: string): string {
    return text.replaceAll(this.#begin, this.#replacement);
  }
}

/** Marks as HTML comments, for platforms that hide them. */
export const htmlMarks = new ResendMarks({
  begin: '<!-- actor-gateway:',
  end: ' -->',
  replacement: '<!-- actor-gateway ',
});
