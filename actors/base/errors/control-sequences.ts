// Removes terminal control sequences and command strings (ECMA-48, sections 5.4 and 5.6), and other sequences
// that start with ESC. The parts of the pattern cannot overlap, so the time is linear; Node's
// stripVTControlCharacters needs quadratic time for long sequences.

const ESC = '\u001b';
const SEQUENCE = new RegExp(
  `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*[@-~]` +
    `|(?:${ESC}[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^${ESC}\u0007\u0080-\u009f]*(?:[\u0007\u009c]|${ESC}\\\\)` +
    `|${ESC}[ -/]*[0-~]`,
  'g',
);

/** Single control characters may remain in the text. */
export function removeControlSequences(text: string): string {
  return text.replace(SEQUENCE, '');
}
