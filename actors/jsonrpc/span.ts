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

/** Sorts edits by where they are, in place. */
export function inOrder(edits: Edit[]): Edit[] {
  const [first, second] = edits;
  if (first === undefined || second === undefined) return edits;
  if (edits.length > 2) return edits.sort((a, b) => a.start - b.start);
  return second.start < first.start ? edits.reverse() : edits;
}

/** The edits of two who change the same message; not in order. */
export function together(some: readonly Edit[] | undefined, others: Edit[]): Edit[] {
  return some === undefined || some.length === 0 ? others : [...some, ...others];
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

/** As `splice`, but what is large is not copied: it comes in pieces of the message and what stands between them. */
export function edited(message: Message, edits: readonly Edit[]): Message {
  if (!isInPieces(message) && message.length < PIECES_FROM) return splice(message, edits);
  const pieces: Buffer[] = [];
  let read = 0;
  for (const { start, end, text } of edits) {
    pieces.push(...between(message, read, start), Buffer.from(text, 'latin1'));
    read = end;
  }
  pieces.push(...between(message, read, Number.POSITIVE_INFINITY));
  return gathered(pieces);
}

/** The same pieces, with small neighbours put together. */
function gathered(pieces: readonly Buffer[]): Buffer[] {
  const runs: Buffer[][] = [];
  let runBytes = PIECES_FROM;
  for (const piece of pieces) {
    runBytes += piece.length;
    const run = runs.at(-1);
    if (run !== undefined && runBytes < PIECES_FROM) run.push(piece);
    else if (piece.length > 0) {
      runs.push([piece]);
      runBytes = piece.length;
    }
  }
  return runs.map((run) => (run.length === 1 && run[0] !== undefined ? run[0] : Buffer.concat(run)));
}

/** A copy of `bytes` with the edits carried out; they must be in order and must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const edit of edits) size += edit.text.length - (edit.end - edit.start);
  const out = Buffer.allocUnsafe(size);
  let read = 0;
  let written = 0;
  for (const { start, end, text } of edits) {
    copyBytes(bytes, read, start, out, written);
    written += start - read;
    if (text.length > FEW_CHARS) written += out.write(text, written, 'latin1');
    else for (let at = 0; at < text.length; at += 1) out[written++] = text.charCodeAt(at);
    read = end;
  }
  copyBytes(bytes, read, bytes.length, out, written);
  return out;
}

/** A loop over so few bytes costs less than a call into the runtime. */
const FEW_BYTES = 256;
const FEW_CHARS = 64;

function copyBytes(from: Buffer, start: number, end: number, to: Buffer, at: number): void {
  if (end - start > FEW_BYTES) from.copy(to, at, start, end);
  else for (let read = start; read < end; read += 1) to[at + read - start] = from[read] as number;
}
