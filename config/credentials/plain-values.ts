// Recognises values that are not redacted in messages: words, numbers and paths are common there, and errors
// without them would be unreadable. For values under credential names, such as API_TOKEN, the strict rule
// isPlainValue decides; for other values isOrdinaryText decides.

/** Minimum length for redaction; shorter values match inside ordinary text. */
export const MIN_CREDENTIAL_LENGTH = 8;

/** Longer letter sequences are treated as generated tokens. */
const MAX_WORD = 15;
const MAX_NUMBER = 15;

/**
 * A lower-case or capitalised word of up to 12 letters. A word of hexadecimal digits such as `deadbeefcafe`
 * is a token.
 */
const plainWord = /^(?![A-Fa-f]+$)[\p{Lu}\p{Ll}][\p{Ll}\p{M}]{0,11}$/u;
const plainNumber = /^[-+]?\d+(?:[.,]\d+)?$/;

/**
 * Tests for a word, number or path, which stay readable even under credential names. A host is no plain
 * value, because tokens may contain dots like a host.
 */
export function isPlainValue(value: string): boolean {
  if (value.length <= MAX_NUMBER && plainNumber.test(value)) return true;
  return plainWord.test(value) || pathSegments(value)?.every(isFileName) === true;
}

/**
 * Tests for readable text: a region, model, host, mail address or sentence without an opaque part, or a path
 * with a readable first segment.
 */
export function isOrdinaryText(value: string): boolean {
  if (isPhrase(value)) return true;
  const [first] = pathSegments(value) ?? [];
  // Paths may contain generated names. The first segment only excludes base64 that starts with a slash, such
  // as `/9j/4AAQSkZJRg`.
  return first !== undefined && !/\d/.test(first) && isPhrase(first);
}

function isPhrase(value: string): boolean {
  return value.split(/[^\p{L}\p{M}\p{N}]+/u).every(isPlainPiece);
}

/**
 * Accepts parts of identifiers: `v2`, `1a`, `myProject`. Generated tokens mix letters and digits irregularly.
 */
function isPlainPiece(piece: string): boolean {
  return (
    piece === '' ||
    (piece.length <= MAX_WORD && /^(?:\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+)$/u.test(piece)) ||
    /^\d{1,15}$/.test(piece) ||
    /^(?:[a-z]{1,12}|[A-Z]{1,12})\d{1,3}$|^\d{1,4}[A-Za-z]{1,2}$/.test(piece) ||
    /^[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,}){1,3}$/.test(piece)
  );
}

/** Splits a path that starts with `/`, `./`, `../`, `~/` or `C:`; undefined for any other value. */
function pathSegments(value: string): string[] | undefined {
  const path = /^(?:(?:~|\.{1,2})?\/|[A-Za-z]:[\\/])(.+?)[\\/]?$/s.exec(value)?.[1];
  const segments = path?.split(/[\\/]/);
  return segments?.every((segment) => /^[\p{L}\p{M}\p{N} ._@-]+$/u.test(segment)) ? segments : undefined;
}

/** Accepts generated names of key files, if they have an extension: `project-1a2b3c4d5e6f.json`. */
function isFileName(segment: string): boolean {
  return isPhrase(segment) || /^[a-z\d._-]+\.[a-z]{2,5}$/.test(segment);
}
