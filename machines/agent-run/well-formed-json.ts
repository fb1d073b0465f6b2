// JSON text without halves of characters. A text may have one where it was cut, and a model or a server may write one; JSON has it as
// an escape, and whoever reads strictly refuses all of it: providers of models do, and so do tool servers.

/** A pair, half of one, or any other escape. */
const ESCAPE = /\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|ud[89a-f][0-9a-f]{2}|.)/gi;
const HALF = /^\\ud...$/i;

/** The same with the sign of replacement in their place. */
export function wellFormedJson(json: string): string {
  const text = json.toWellFormed();
  if (!/\\ud/i.test(text)) return text;
  return text.replace(ESCAPE, (found) => (HALF.test(found) ? '\\ufffd' : found));
}
