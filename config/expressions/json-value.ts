// Converts results of CEL expressions to JSON: the CEL library returns integers as BigInts, and timestamps
// and durations as objects of its own.

import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import type { EvaluationBudget } from './evaluation-budget.ts';

/** Maximum nesting of a result. */
const MAX_LEVELS = 100;

/**
 * Converts CEL values to JSON. Throws RangeError if JSON cannot express a value, it is nested deeper than
 * MAX_LEVELS, or it exceeds the budget. A value that occurs several times costs its full size each time,
 * because the JSON text repeats it.
 */
export function jsonOf(value: unknown, budget: EvaluationBudget, levels = MAX_LEVELS): unknown {
  budget.spendSteps(1);
  const json = shallowJson(value);
  // A character of a text takes up to two bytes.
  if (typeof json === 'string') budget.spendBytes(2 * json.length);
  if (typeof json !== 'object' || json === null) return json;
  if (levels === 0) throw new RangeError(`the value is nested deeper than ${MAX_LEVELS} levels`);
  const memberOf = (member: unknown) => jsonOf(member, budget, levels - 1);
  if (Array.isArray(json)) return json.map(memberOf);
  return Object.fromEntries(Object.entries(json).map(([key, member]) => [key, memberOf(member)]));
}

/**
 * Serialises CEL values as JSON text. Throws RangeError if JSON cannot express a value, and as soon as the
 * text exceeds `maxLength`. This limit replaces the levels and the budget of `jsonOf`.
 */
export function jsonTextOf(value: unknown, maxLength: number): string {
  let length = 0;
  return JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key) {
    // `this[key]` is the original value; `JSON.stringify` has applied `toJSON` to the second argument.
    const json = shallowJson(this[key]);
    length += key.length + (typeof json === 'string' ? json.length : 1);
    if (length > maxLength) throw new RangeError(`the JSON text is longer than ${maxLength} characters`);
    return json;
  });
}

/** Converts scalars completely, and maps to objects. Members of lists and maps remain CEL values. */
function shallowJson(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return numberOf(value);
  if (typeof value === 'number') return finite(value);
  if (value instanceof UnsignedInt) return numberOf(value.value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Duration) return value.toString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([key, member]) => [String(shallowJson(key)), member]));
  if (typeof value === 'object') return value;
  throw new RangeError(`a ${typeof value} is not a JSON value`);
}

function numberOf(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new RangeError(`${value} is too large a number`);
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new RangeError(`${value} is not a JSON number`);
}
