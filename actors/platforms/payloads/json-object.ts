// Parses request bodies that must be JSON objects, as most platforms send them. Rejects nesting deeper than
// MAX_DEPTH, as large-json.ts does: JSON.parse accepts deeper values, but serialising them later would fail.

import { parseJson } from '../../../config/reader/json-text.ts';

const MAX_DEPTH = 256;

/** Returns undefined if the body is not JSON, not an object, or nested too deeply. */
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
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Returns true if JSON text is nested deeper than MAX_DEPTH. The result for other text is meaningless. */
export function isTooDeep(text: string): boolean {
  if (text.length <= 2 * MAX_DEPTH) return false;
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInText = false;
    } else if (code === QUOTE) isInText = true;
    else if (code === BRACE || code === BRACKET) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) depth -= 1;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
