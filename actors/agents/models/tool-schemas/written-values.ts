// Values written as text: objects and arrays as JSON. A text that would be read as such a value is written as
// a JSON string, so that every value survives both conversions.

import { isNestedTooDeeply } from '../../../../machines/agent-run/tool-arguments.ts';

/** Writes an object, an array or a text; other values are unchanged. */
export function writeValue(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  return typeof value === 'string' && readValue(value) !== value ? JSON.stringify(value) : value;
}

/** Reads a model's text. Text other than JSON is the value itself. */
export function readValue(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{"]/.test(value)) return value;
  if (isNestedTooDeeply(value)) return value;
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    return value;
  }
  if (typeof parsed !== 'string') return parsed;
  return readValue(parsed) === parsed ? value : parsed;
}
