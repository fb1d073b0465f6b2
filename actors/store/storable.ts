// The texts that every engine keeps as they are: well-formed Unicode without the character 0. Neither SQLite nor PostgreSQL takes
// anything else in a text.

/** Text as it is kept: half a surrogate pair, and the character 0, are replaced. */
export function storable(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}
