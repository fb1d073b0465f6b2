import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonLength, MAX_OUTPUT, outputFault } from '../../../../../actors/agents/flows/output-limit.ts';

test('the counted length of an output equals the length of its JSON text', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(200), (value, most) => {
      const { length } = JSON.stringify(value);
      expect(jsonLength(value, MAX_OUTPUT)).toBe(length);
      expect(jsonLength(value, most) > most).toBe(length > most);
    }),
  );
});

test('an output is refused by its size and its nesting, which are counted up to the limits only', () => {
  let deep: unknown = [];
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(outputFault({ deep })).toBe('has more than 300 levels');
  const many = Array.from({ length: 1_000 }, () => 'x'.repeat(1_000_000));
  expect(outputFault(many)).toBe('has more than 262144 characters');
  expect(outputFault({ a: [1, 'x'], b: undefined })).toBeUndefined();
});

test('a long list is read only up to the limit', () => {
  let reads = 0;
  const list = new Proxy(new Array(1_000_000).fill(1), {
    get: (target, name, receiver) => {
      reads += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  expect(outputFault(list)).toBe('has more than 262144 characters');
  // One element and one length per step.
  expect(reads).toBeLessThan(2 * MAX_OUTPUT);
});
