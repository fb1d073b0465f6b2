// Halves of surrogate pairs in JSON text: a string that was cut inside an emoji ends with one, and JSON.stringify writes
// it as an escape. Strict readers (every Python client) reject a message that holds one.

const MAY_HOLD_HALVES = /\\u[dD][89a-fA-F]/;
/** Each escape as a whole: the second half of an escaped backslash begins none. */
const ESCAPES = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\./g;

/** The JSON text with U+FFFD in place of each escape that is half of a surrogate pair. */
export function withoutHalves(json: string): string {
  if (!MAY_HOLD_HALVES.test(json)) return json;
  return json.replace(ESCAPES, (found) => (found.length === 6 ? '\\ufffd' : found));
}
