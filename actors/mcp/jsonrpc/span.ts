// Positions in a message, and replacements. A span is a range of bytes; an edit replaces it. The text of an
// edit is Latin-1, one character per byte, so raw JSON is copied between messages byte for byte.

export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Edit extends Span {
  readonly text: string;
}

/** Returns the edit that replaces a span. Without object spread, which is slow in the runtime. */
export function replaceSpan(span: Span, text: string): Edit {
  return { start: span.start, end: span.end, text };
}

/** Returns the raw JSON of a span as edit text. */
export function rawOf(bytes: Buffer, span: Span): string {
  return bytes.toString('latin1', span.start, span.end);
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** Serialises a value to raw JSON as edit text. */
export function rawJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!BEYOND_ASCII.test(text)) return text;
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Concatenates two lists of edits. */
export function concatEdits(some: readonly Edit[] | undefined, others: readonly Edit[]): readonly Edit[] {
  if (some === undefined || some.length === 0) return others;
  return others.length === 0 ? some : [...some, ...others];
}

/** A message to send; large messages may be in pieces. */
export type Message = Buffer | readonly Buffer[];

/** Size in bytes from which separate writes are cheaper than joining. */
export const PIECES_FROM = 16_384;

export function isInPieces(message: Message): message is readonly Buffer[] {
  return Array.isArray(message);
}

export function sizeOf(message: Message): number {
  return isInPieces(message) ? message.reduce((sum, { length }) => sum + length, 0) : message.length;
}

/** Returns the message in one buffer. */
export function toBuffer(message: Message): Buffer {
  return isInPieces(message) ? Buffer.concat(message) : message;
}

/** Returns true if the message contains `text`, which must be ASCII. */
export function containsText(message: Message, text: string): boolean {
  if (!isInPieces(message)) return message.includes(text);
  let before = '';
  for (const piece of message) {
    // A match across two pieces is in the last bytes of the first and the first bytes of the second.
    const border = before + piece.toString('latin1', 0, text.length - 1);
    if (border.includes(text) || piece.includes(text)) return true;
    before = (before + piece.toString('latin1', Math.max(0, piece.length - text.length))).slice(
      1 - text.length,
    );
  }
  return false;
}

/** Returns the bytes at `start…end` as views, not copies. */
export function sliceMessage(message: Message, start: number, end: number): Buffer[] {
  const slices: Buffer[] = [];
  let at = 0;
  for (const piece of isInPieces(message) ? message : [message]) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.length);
    if (from < to) slices.push(piece.subarray(from, to));
    at += piece.length;
  }
  return slices;
}
