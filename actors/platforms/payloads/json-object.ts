// A body that has to be a JSON object: nearly every platform sends one.
//
// JO1  nested deeper than MAX_DEPTH it is none, like a large one (large-json.ts): a parser takes it, and whoever writes it again fails.

const MAX_DEPTH = 256;

/** Undefined for what is no JSON, for JSON that is no object, and for what is nested too deep. */
export function jsonObjectIn(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const { buffer, byteOffset, byteLength } = body;
  const value = jsonIn(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'));
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function jsonIn(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Of JSON; of anything else it does not matter. */
export function isTooDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (isInText) {
      if (sign === BACKSLASH) at += 1;
      else if (sign === QUOTE) isInText = false;
    } else if (sign === QUOTE) isInText = true;
    else if (sign === BRACE || sign === BRACKET) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (sign === CLOSING_BRACE || sign === CLOSING_BRACKET) depth -= 1;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
