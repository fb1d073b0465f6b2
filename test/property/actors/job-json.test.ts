// Jobs as JSON: texts of any size are unchanged, and large JSON is written in chunks.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobJson } from '../../../actors/agents/handlers/job-json.ts';
import { aJob } from '../../fixtures/automation/jobs.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  // At some position, a cut of such a text splits a surrogate pair.
  fc
    .tuple(fc.constantFrom('"😀', 'é\n', '\ud800', 'a'), fc.integer({ min: 1, max: 400_000 }))
    .map(([unit, times]) => unit.repeat(times)),
);

test('a job is parsed back unchanged for texts of any size', async () => {
  await fc.assert(
    fc.asyncProperty(anyText, fc.oneof(anyText, fc.constant(undefined)), async (input, payload) => {
      const job = aJob({ input });
      const sentJob = { ...job, event: { ...job.event, payload: payload ?? input } };
      const readJob = JSON.parse(Buffer.concat(await jobJson(sentJob)).toString());
      // No `toBe`, because its message would contain the large texts.
      expect(readJob.input === input).toBe(true);
      expect(readJob.event.payload === (payload ?? input)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test('writing a job with a large text yields to other work repeatedly', async () => {
  const input = 'x"\n'.repeat(1_000_000);
  const job = aJob({ input });
  /** Event loop iterations during writing. */
  let loopTurns = 0;
  let isOver = false;
  const count = (): void => {
    loopTurns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { stringify } = JSON;
  /** Length of the longest text that one call of JSON.stringify returned. */
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
  expect(loopTurns).toBeGreaterThan(10);
  expect(longest).toBeLessThan(500_000);
});
