// Costs of operations in expressions that walk through their operands, such as comparisons of lists. A cost
// is a number of steps of the evaluation budget. The walk spends the cost of a member before it continues
// with the next member (CEL2, evaluation-budget.ts).

import type { EvaluationBudget } from './evaluation-budget.ts';

/** Characters that a search or comparison reads in the time of a step. */
export const COMPARED_PER_STEP = 64;
/** Characters that a function converts in the time of a step. */
export const CONVERTED_PER_STEP = 8;

type JsonMap = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>;

/** Spends a step per member at all levels, and the characters of the texts. */
export function spendValue(root: unknown, budget: EvaluationBudget): void {
  const rest = [root];
  while (rest.length > 0) {
    const value = rest.pop();
    budget.spendSteps(1 + textLength(value) / CONVERTED_PER_STEP);
    for (const member of membersOf(value)) {
      budget.spendSteps(1);
      rest.push(member);
    }
  }
}

/** Spends a step per pair of members that a comparison of two values may reach. */
export function spendComparison(left: unknown, right: unknown, budget: EvaluationBudget): void {
  const rest: (readonly [unknown, unknown])[] = [[left, right]];
  for (let pair = rest.pop(); pair !== undefined; pair = rest.pop()) {
    const [a, b] = pair;
    budget.spendSteps(1);
    if (a === b || sizeOf(a) !== sizeOf(b)) continue;
    if (typeof a === 'string') budget.spendSteps(a.length / COMPARED_PER_STEP);
    else if (Array.isArray(a) && Array.isArray(b))
      for (const [index, item] of a.entries()) {
        budget.spendSteps(1);
        rest.push([item, b[index]]);
      }
    else if (isMap(a) && isMap(b))
      for (const [name, member] of entriesOf(a)) {
        budget.spendSteps(1);
        rest.push([member, b instanceof Map ? b.get(name) : (b as Record<string, unknown>)[String(name)]]);
      }
  }
}

/**
 * Spends the cost of a type check: the library determines the type of an operand from its first members, and
 * enumerates all keys for this.
 */
export function spendType(operand: unknown, budget: EvaluationBudget): void {
  let value = operand;
  while (Array.isArray(value) || isMap(value)) {
    budget.spendSteps(1 + (Array.isArray(value) ? 0 : 2 * sizeOf(value)));
    value = firstMember(value);
  }
}

/**
 * Cached numbers of members, because counting takes as long as the operation itself. A cached number stays
 * valid, because values do not change.
 */
const memberCounts = new WeakMap<object, number>();

/** Returns the number of characters, items or members; 0 for other values. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  if (!isMap(value)) return 0;
  if (value instanceof Map) return value.size;
  const count = memberCounts.get(value) ?? Object.keys(value).length;
  memberCounts.set(value, count);
  return count;
}

function firstMember(value: readonly unknown[] | JsonMap): unknown {
  if (Array.isArray(value)) return value[0];
  if (value instanceof Map) return value.values().next().value;
  for (const name in value) return (value as Readonly<Record<string, unknown>>)[name];
  return undefined;
}

/** Returns the number of characters; 0 for values other than texts. */
export const textLength = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

function membersOf(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) return value;
  if (!isMap(value)) return [];
  return value instanceof Map ? value.values() : Object.values(value);
}

function entriesOf(map: JsonMap): Iterable<readonly [unknown, unknown]> {
  return map instanceof Map ? map.entries() : Object.entries(map);
}

/** Returns false for lists, and for the library's objects such as timestamps. */
function isMap(value: unknown): value is JsonMap {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return value instanceof Map || prototype === Object.prototype || prototype === null;
}
