// Escapes invisible characters, and marks that change the text direction, in untrusted text.

/**
 * Escaped in texts: control characters except line breaks and tabs, direction marks, line separators, and
 * lone surrogates.
 */
const ESCAPED_IN_TEXTS =
  /[^\P{Cc}\n\r\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]|\p{Cs}/gu;
/** Escaped in names: all invisible characters, including line breaks and tabs. */
const ESCAPED_IN_NAMES = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

/** Escapes a text of any length. */
export function visible(text: string): string {
  return text.replace(ESCAPED_IN_TEXTS, escapeCharacter);
}

/** Escapes a name and truncates it after `maxChars` characters. */
export function escapeName(text: string, maxChars = 200): string {
  const escaped = text.slice(0, maxChars).replace(ESCAPED_IN_NAMES, escapeCharacter);
  return text.length > maxChars ? `${escaped}…` : escaped;
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Formats JSON over several lines; other text is unchanged. */
export function readableJson(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
