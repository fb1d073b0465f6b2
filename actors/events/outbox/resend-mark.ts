// A mark that nobody reads in a message, by which a second attempt finds what a first one may have posted, and by which our own
// messages are known, on platforms where messages can be looked through. Whoever sees the source does not learn what our
// triggers are called.

import { createHash } from 'node:crypto';

/** Marks in a form that one platform does not show. */
export class ResendMarks {
  readonly #begin: string;
  readonly #end: string;
  readonly #harmless: string;

  /** `begin` stands before every mark and in nothing else; `harmless` is written where a text has it, and makes none with what follows. */
  constructor({
    begin,
    end,
    harmless,
  }: {
    readonly begin: string;
    readonly end: string;
    readonly harmless: string;
  }) {
    this.#begin = begin;
    this.#end = end;
    this.#harmless = harmless;
  }

  /** Of one row of the outbox, the same at each attempt. */
  of(rowId: string): string {
    return `${this.#begin}${createHash('sha256').update(rowId).digest('hex').slice(0, 32)}${this.#end}`;
  }

  /** Whether a text was written by a gateway. */
  areIn(text: string): boolean {
    return text.includes(this.#begin);
  }

  /** The text without anything that would pass for the mark of another row. */
  takenOut(text: string): string {
    return text.replaceAll(this.#begin, this.#harmless);
  }
}

/** Where HTML in a text is read as such, and its comments are shown to nobody. */
export const htmlMarks = new ResendMarks({
  begin: '<!-- actor-gateway:',
  end: ' -->',
  harmless: '<!-- actor-gateway ',
});
