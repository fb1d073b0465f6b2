// A long text in parts, so that one file or diff does not fill a model's whole context: each part ends at the end of a line
// where there is one, and says where the next begins. Offsets are in characters, as `String.length` counts them.

export const MAX_TEXT_CHARS = 100_000;

interface TextPage {
  readonly text: string;
  /** Where the next part begins; undefined at the end. */
  readonly nextOffset: number | undefined;
  readonly totalChars: number;
}

/** The part of `text` that begins at `offset`. */
export function textPage(text: string, offset: number): TextPage {
  const start = keepPair(text, Math.min(offset, text.length));
  if (text.length - start <= MAX_TEXT_CHARS)
    return { text: text.slice(start), nextOffset: undefined, totalChars: text.length };
  const hardEnd = keepPair(text, start + MAX_TEXT_CHARS);
  const lineEnd = text.lastIndexOf('\n', hardEnd - 1) + 1;
  const end = lineEnd > start ? lineEnd : hardEnd;
  return { text: text.slice(start, end), nextOffset: end, totalChars: text.length };
}

/** `index`, or one before it where it would part the two halves of one character. */
export function keepPair(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return index > 0 && code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}
