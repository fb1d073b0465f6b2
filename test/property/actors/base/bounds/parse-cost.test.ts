import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_OUTPUT } from '../../../../../actors/agents/flows/output-limit.ts';
import { MAX_PARSE_COST, parseCost } from '../../../../../actors/base/bounds/parse-cost.ts';

const costOf = (json: string, most = Number.POSITIVE_INFINITY) => parseCost(Buffer.from(json), most);

/** Values and members of a parsed value. */
function countIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  const members = Array.isArray(value) ? value : Object.values(value);
  const memberCost = Array.isArray(value) ? 0 : 3 * members.length;
  return members.reduce((sum: number, member) => sum + countIn(member), 1 + memberCost);
}

test('the cost of JSON counts values once, and members four times', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, space) => {
      // The bracket of an array counts in addition to the comma before it, also without elements.
      const cost = costOf(JSON.stringify(value, undefined, space));
      const count = countIn(value);
      expect(cost).toBeGreaterThanOrEqual(count);
      expect(cost).toBeLessThanOrEqual(2 * count);
    }),
  );
});

test('the cost is counted only up to the limit', () => {
  expect(costOf(`[${'[],'.repeat(1_000)}1]`, 100)).toBe(101);
});

test.each([
  ['values', '[', '1,', '1]'],
  ['arrays', '[', '[],', '[]]'],
  ['members', '[', '{"":1},', '1]'],
  ['nested members', '[', `${'{"":'.repeat(200)}1${'}'.repeat(200)},`, '1]'],
])('an output of %s within the size limit can be parsed', (_, start, item, end) => {
  const json = start + item.repeat(MAX_OUTPUT / item.length - 1) + end;
  expect(costOf(json)).toBeLessThan(MAX_PARSE_COST);
});
