// Characters that people do not see: control characters, default-ignorable characters such as joiners and
// fillers, blanks other than the space, and marks that change the text direction. Texts that people approve
// show them as escapes.

/** Character class without line feeds and tabs. */
const HIDDEN_CLASS = [
  '\\0-\\x08\\x0b-\\x1f\\x7f-\\xa0',
  '\\p{Cf}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}',
  // Blanks.
  '\\u1680\\u2000-\\u200a\\u202f\\u205f\\u2800\\u3000\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}',
].join('');

const HIDDEN = new RegExp(`[${HIDDEN_CLASS}]`, 'gu');

/** Shows hidden characters as escapes of JSON. The value of a JSON text does not change. */
export function escapeHidden(text: string): string {
  return replaceHidden(text, escapeUnits);
}

/** Replaces each hidden character. */
export function replaceHidden(text: string, replacement: (character: string) => string): string {
  return text.replace(HIDDEN, replacement);
}

/** Returns the text on one line, with hidden characters as escapes. */
export function escapeHiddenLine(text: string): string {
  return escapeHidden(text.toWellFormed().replace(/[ \t\n\v\f\r\x85\u2028\u2029]+/g, ' '));
}

/** Returns the escape of a character, in UTF-16 code units. */
export function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
