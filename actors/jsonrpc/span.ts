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

/** A value as raw JSON, for use as the text of an edit. */
export function rawJson(value: unknown): string {
  const text = JSON.stringify(value);
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Sorts edits by where they are, in place. */
export function inOrder(edits: Edit[]): Edit[] {
  return edits.length > 1 ? edits.sort((a, b) => a.start - b.start) : edits;
}

/** A copy of `bytes` with the edits carried out; they must be in order and must not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  let size = bytes.length;
  for (const edit of edits) size += edit.text.length - (edit.end - edit.start);
  const out = Buffer.allocUnsafe(size);
  let read = 0;
  let written = 0;
  for (const { start, end, text } of edits) {
    written += bytes.copy(out, written, read, start);
    written += out.write(text, written, 'latin1');
    read = end;
  }
  bytes.copy(out, written, read);
  return out;
}
