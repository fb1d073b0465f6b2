// Recognises values exempt from redaction. Words, numbers, paths and hosts are common in messages; redacting them would make
// errors unreadable. A word has up to 15 letters; longer letter sequences are treated as generated tokens.

/** Minimum length for redaction; shorter values match inside ordinary text. */
export const MIN_CREDENTIAL_LENGTH = 8;

const MAX_WORD = 15;

/** Tests for a word, number, path or host, which stays readable even if its name is a credential name. */
export function isPlainValue(value: string): boolean {
  return isWord(value) || isNumber(value) || isPath(value) || isHost(value);
}

/** Tests for words and numbers, such as a region, model, mail address or sentence. Redacted only with a credential name. */
export function isPhrase(value: string): boolean {
  return value.split(/[^\p{L}\p{M}\p{N}]+/u).every(isPlainPiece);
}

function isWord(value: string): boolean {
  return value.length <= MAX_WORD && /^(?:\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+)$/u.test(value);
}

/** Includes dates, times, versions and IPv4 addresses. */
function isNumber(value: string): boolean {
  return value.length <= MAX_WORD && /^[-+]?\d[\d.,:/_-]*$/.test(value);
}

/** Accepts parts of identifiers: `v2`, `1a`, `myProject`. Generated tokens mix letters and digits irregularly. */
function isPlainPiece(piece: string): boolean {
  return (
    piece === '' ||
    isWord(piece) ||
    /^\d{1,15}$/.test(piece) ||
    /^(?:[a-z]{1,12}|[A-Z]{1,12})\d{1,3}$|^\d{1,4}[A-Za-z]{1,2}$/.test(piece) ||
    /^[A-Z]?[a-z]{2,}(?:[A-Z][a-z]{2,}){1,3}$/.test(piece)
  );
}

/** Base64 may start with a slash, too, but the first segment is no phrase. */
function isPath(value: string): boolean {
  const [, rooted] = /^(?:~|\.{1,2}|[A-Za-z]:)?[\\/]([^\\/]*)/.exec(value) ?? [];
  if (rooted !== undefined) return isPhrase(rooted);
  return /[\\/]/.test(value) && value.split(/[\\/]/).every(isPhrase);
}

function isHost(value: string): boolean {
  return /^(?:(?:[a-z0-9-]+\.)+[a-z]{2,15}(?::\d{1,5})?|[a-z0-9.-]+:\d{1,5})$/.test(value) && isPhrase(value);
}
