// Splits long texts into parts, because one file or diff could fill a model's context. Parts stop at line
// breaks if possible, and state the next offset. Offsets count characters like `String.length`.

export const MAX_TEXT_CHARS = 100_000;

interface TextPage {
  readonly text: string;
  /** Start of the next part; undefined for the last part. */
  readonly nextOffset: number | undefined;
  readonly totalChars: number;
}

/** Returns the part of `text` that starts at `offset`. */
export function textPage(text: string, offset: number): TextPage {
  const start = characterStart(text, Math.min(offset, text.length));
  if (text.length - start <= MAX_TEXT_CHARS)
    return { text: text.slice(start), nextOffset: undefined, totalChars: text.length };
  const hardEnd = characterStart(text, start + MAX_TEXT_CHARS);
  const lineEnd = text.lastIndexOf('\n', hardEnd - 1) + 1;
  const end = lineEnd > start ? lineEnd : hardEnd;
  return { text: text.slice(start, end), nextOffset: end, totalChars: text.length };
}

/** Returns `index`, or the previous index if `index` is inside a surrogate pair. */
export function characterStart(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return index > 0 && code >= 0xdc00 && code <= 0xdfff ? index - 1 : index;
}
