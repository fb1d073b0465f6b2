// Replaces lone surrogates in JSON text. They arise when a text is cut inside a character, and JSON.stringify
// escapes them. Strict parsers, such as Python's, reject the whole message.

const MAY_CONTAIN_SURROGATES = /\\u[dD][89a-fA-F]/;
/** Matches whole escapes, so that the `u` after an escaped backslash is not taken for a Unicode escape. */
const ESCAPES = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..|\\./g;

/** Replaces escaped halves of surrogate pairs with U+FFFD. */
export function replaceLoneSurrogates(json: string): string {
  if (!MAY_CONTAIN_SURROGATES.test(json)) return json;
  return json.replace(ESCAPES, (escapeText) => (escapeText.length === 6 ? '\\ufffd' : escapeText));
}
