// Parses request bodies that must be JSON objects, as most platforms send them. Rejects excessive nesting, as
// large-json.ts does.

import { parseJson } from '../../../config/reader/json-text.ts';
import { isTooDeep } from '../../../libs/rest/json-depth.ts';

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
