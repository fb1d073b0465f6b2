// Expression functions for escaping: encode(), json(), base64().
//
// Results are bounded, so nested calls cannot grow without limit (CEL2, evaluation-budget.ts).

import type { Environment } from '@marcbachmann/cel-js';
import { jsonTextOf } from './json-value.ts';

const MAX_LENGTH = 1_048_576;

/** Registers encode(), json() and base64(). */
export function registerTextFunctions(environment: Environment): void {
  environment.registerFunction('encode(string): string', (text: string) => bounded(percentEncoded(text)));
  environment.registerFunction('json(dyn): string', (value: unknown) =>
    bounded(jsonTextOf(value, MAX_LENGTH)),
  );
  environment.registerFunction('base64(string): string', (text: string) =>
    bounded(Buffer.from(wellFormed(text), 'utf8').toString('base64')),
  );
}

/**
 * Percent-encodes text as one path segment, query key or query value. Throws a RangeError for half a
 * surrogate pair.
 */
export function percentEncoded(text: string): string {
  return encodeURIComponent(wellFormed(text));
}

function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new RangeError('the text contains half of a surrogate pair');
  return text;
}

function bounded(text: string): string {
  if (text.length > MAX_LENGTH) throw new RangeError(`the result is longer than ${MAX_LENGTH} characters`);
  return text;
}
