// Lone surrogates in JSON text. A string cut inside an emoji has a lone surrogate, which JSON.stringify escapes.
// Strict parsers, such as Python's, reject the message.

const MAY_HOLD_HALVES = /\\u[dD][89a-fA-F]/;
/** Matches complete escapes, so an escaped backslash before a `u` is not mistaken for a Unicode escape. */
const ESCAPES = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\./g;

/** Replaces escaped halves of surrogate pairs with U+FFFD. */
export function withoutHalves(json: string): string {
  if (!MAY_HOLD_HALVES.test(json)) return json;
  return json.replace(ESCAPES, (found) => (found.length === 6 ? '\\ufffd' : found));
}
