// Removes control sequences of terminals and command strings (ECMA-48, sections 5.4 and 5.6), and what else follows an
// ESC. No part can begin within another, so no character is looked at often; Node's stripVTControlCharacters takes time
// with the square of a sequence's length.

const ESC = '\u001b';
const SEQUENCE = new RegExp(
  `(?:${ESC}\\[|\u009b)[0-?]*[ -/]*[@-~]` +
    `|(?:${ESC}[\\]PX^_]|[\u0090\u0098\u009d-\u009f])[^${ESC}\u0007\u0080-\u009f]*(?:[\u0007\u009c]|${ESC}\\\\)` +
    `|${ESC}[ -/]*[0-~]`,
  'g',
);

/** The text without what a terminal would obey as a whole; single control characters may be left in it. */
export function withoutSequences(text: string): string {
  return text.replace(SEQUENCE, '');
}
