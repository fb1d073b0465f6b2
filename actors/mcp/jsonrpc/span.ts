// A span is a stretch of bytes inside a message; an edit replaces one. Replacement text is Latin-1: one character
// is one byte, so that raw JSON taken from one message goes into another byte for byte.

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Edit extends Span {
  readonly text: string;
}

/** Puts `text` in the place of a span. Not a spread: the runtime takes the slow way for those, each time anew. */
export function replacing(span: Span, text: string): Edit {
  return { start: span.start, end: span.end, text };
}

/** The raw JSON of a span, for use as the text of an edit. */
export function rawOf(bytes: Buffer, span: Span): string {
  return bytes.toString('latin1', span.start, span.end);
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** A value as raw JSON, for use as the text of an edit. */
export function rawJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!BEYOND_ASCII.test(text)) return text;
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Concatenates two lists of edits. */
export function together(some: readonly Edit[] | undefined, others: readonly Edit[]): readonly Edit[] {
  if (some === undefined || some.length === 0) return others;
  return others.length === 0 ? some : [...some, ...others];
}

/** A message on its way out; a large one may come in pieces that follow each other. */
export type Message = Buffer | readonly Buffer[];

/** From here on to put pieces together costs more than to send each for itself. */
export const PIECES_FROM = 16_384;

export function isInPieces(message: Message): message is readonly Buffer[] {
  return Array.isArray(message);
}

export function sizeOf(message: Message): number {
  return isInPieces(message) ? message.reduce((sum, { length }) => sum + length, 0) : message.length;
}

/** The message in one buffer. */
export function whole(message: Message): Buffer {
  return isInPieces(message) ? Buffer.concat(message) : message;
}

/** Whether the bytes of `text`, which is ASCII, stand anywhere in the message. */
export function holds(message: Message, text: string): boolean {
  if (!isInPieces(message)) return message.includes(text);
  let before = '';
  for (const piece of message) {
    // What is cut by the end of a piece stands in its last bytes and the first of the next.
    const border = before + piece.toString('latin1', 0, text.length - 1);
    if (border.includes(text) || piece.includes(text)) return true;
    before = (before + piece.toString('latin1', Math.max(0, piece.length - text.length))).slice(
      1 - text.length,
    );
  }
  return false;
}

/** What stands at `start…end`, without a copy. */
export function between(message: Message, start: number, end: number): Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  for (const piece of isInPieces(message) ? message : [message]) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.length);
    if (from < to) found.push(piece.subarray(from, to));
    at += piece.length;
  }
  return found;
}
