// What an agent is told, as JSON: the same whatever is large in it, and what is large is written bit by bit.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobJson } from '../../../actors/agents/handlers/job-json.ts';
import { aJob } from '../../fixtures/automation/jobs.ts';

const aText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  // Whatever a text is cut in, a pair of surrogates is cut in half somewhere.
  fc
    .tuple(fc.constantFrom('"😀', 'é\n', '\ud800', 'a'), fc.integer({ min: 1, max: 400_000 }))
    .map(([unit, times]) => unit.repeat(times)),
);

test('a job reads the same whatever its texts are, large or small', async () => {
  await fc.assert(
    fc.asyncProperty(aText, fc.oneof(aText, fc.constant(undefined)), async (input, payload) => {
      const job = aJob({ input });
      const told = { ...job, event: { ...job.event, payload: payload ?? input } };
      const { input: read, event } = JSON.parse(Buffer.concat(await jobJson(told)).toString());
      expect(read === input).toBe(true);
      expect(event.payload === (payload ?? input)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('others have their turn, again and again, while a large text is written', async () => {
  const input = 'x"\n'.repeat(1_000_000);
  const job = aJob({ input });
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { stringify } = JSON;
  let longest = 0;
  JSON.stringify = (value: unknown) => {
    const text = stringify(value);
    longest = Math.max(longest, text.length);
    return text;
  };
  try {
    await jobJson({ ...job, event: { ...job.event, payload: input } });
    isOver = true;
  } finally {
    JSON.stringify = stringify;
  }
  expect(turns).toBeGreaterThan(10);
  expect(longest).toBeLessThan(500_000);
});
