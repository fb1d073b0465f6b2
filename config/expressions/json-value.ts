// What an expression gives, as JSON: whole numbers of CEL are BigInts, times and spans are objects of the library.

import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';

/** Throws RangeError for what JSON has no form for. */
export function jsonOf(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return numberOf(value);
  if (typeof value === 'number') return finite(value);
  if (value instanceof UnsignedInt) return numberOf(value.value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Duration) return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, member]) => [String(jsonOf(key)), jsonOf(member)]));
  if (typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, jsonOf(member)]));
  throw new RangeError(`a ${typeof value} is no JSON`);
}

function numberOf(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`${value} is too large a number`);
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new RangeError(`${value} is no number of JSON`);
}
