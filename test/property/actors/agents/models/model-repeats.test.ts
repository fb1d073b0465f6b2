import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import type { ModelMessage } from '../../../../../actors/agents/models/model.ts';
import { ModelFaultError } from '../../../../../actors/agents/models/model-errors.ts';
import { repeatRequest } from '../../../../../actors/agents/models/retries.ts';
import { promptOf } from '../../../../../actors/agents/models/send-request.ts';

const passing = fc.record({
  description: fc.constant('answered 500'),
  isFinal: fc.constant(false),
  isRateLimited: fc.boolean(),
  isUnusableNow: fc.boolean(),
  // Without a delay, or with a delay that is too long to wait for.
  retryAfterMs: fc.constantFrom(undefined, 100_000, 200_000),
});
const final = fc.constant({ description: 'answered 400', isFinal: true });
const modelFault = fc.constant({ description: 'answered 401', isFinal: true, mayFallbackAnswer: true });
const outcome = fc.oneof(
  { arbitrary: passing, weight: 8 },
  { arbitrary: final, weight: 1 },
  { arbitrary: modelFault, weight: 2 },
  { arbitrary: fc.constant('yes'), weight: 1 },
);

it('no sequence of failures causes more model requests than allowed, and a final error stops the retries immediately', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(outcome, { minLength: 30, maxLength: 30 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      async (outcomes, retries, count) => {
        const attemptTimes: number[] = [];
        const [first, ...others] = Array.from({ length: count }, (_, n) => ({
          provider: `p${n}`,
          model: 'm',
        }));
        const result = await repeatRequest(
          {
            models: [first as NonNullable<typeof first>, ...others],
            retries,
            remainingMs: 60_000,
            signal: new AbortController().signal,
            firstPauseMs: 0,
          },
          async ({ provider }) => {
            attemptTimes.push(Number(provider.slice(1)));
            const each = outcomes[attemptTimes.length - 1];
            if (typeof each === 'string') return each;
            throw new ModelFaultError(each as Exclude<typeof each, string | undefined>);
          },
        ).catch((error: unknown) => error);

        const outcomesSoFar = outcomes.slice(0, attemptTimes.length);
        const last = outcomesSoFar.at(-1);
        expect(attemptTimes.length).toBeLessThanOrEqual((retries + 1) * count);
        expect(attemptTimes).toEqual([...attemptTimes].sort((a, b) => a - b));
        expect(
          Math.max(...attemptTimes.map((n) => attemptTimes.filter((each) => each === n).length)),
        ).toBeLessThanOrEqual(retries + 1);
        // No request follows an answer or an error that is final for the request. A model with a final error
        // receives no further request.
        const isOfModel = (each: (typeof outcomes)[number] | undefined): boolean =>
          typeof each === 'object' && 'mayFallbackAnswer' in each;
        expect(
          outcomesSoFar
            .slice(0, -1)
            .some((each) => typeof each === 'string' || (each.isFinal && !isOfModel(each))),
        ).toBe(false);
        for (const [n, each] of outcomesSoFar.entries())
          if (isOfModel(each)) expect(attemptTimes[n + 1]).not.toBe(attemptTimes[n]);
        if (typeof last === 'string') {
          expect(result).toBe('yes');
          return;
        }
        expect(result).toBeInstanceOf(HandlerError);
        const error = result as HandlerError;
        // The last outcome per model. The result is final if all of them are final.
        const ends = outcomesSoFar.filter((_, n) => attemptTimes[n] !== attemptTimes[n + 1]);
        const isFinalOf = (each: (typeof outcomes)[number] | undefined): boolean =>
          typeof each === 'object' && each.isFinal;
        expect(error.isFinal).toBe((isFinalOf(last) && !isOfModel(last)) || ends.every(isFinalOf));
        if (!isFinalOf(last) || isOfModel(last)) expect(new Set(attemptTimes).size).toBe(count);
        // An outcome with a long delay or an exhausted quota is not retried.
        for (const [n, each] of outcomesSoFar.entries())
          if (
            typeof each === 'object' &&
            'isUnusableNow' in each &&
            (each.isUnusableNow || each.retryAfterMs !== undefined)
          )
            expect(attemptTimes[n + 1]).not.toBe(attemptTimes[n]);
      },
    ),
    { numRuns: 300 },
  );
});

const texts = fc.string({ maxLength: 10 });
const calls = fc.array(
  fc.record({ id: fc.uuid(), name: fc.constant('look_up'), input: fc.oneof(texts, fc.json()) }),
  {
    maxLength: 3,
  },
);
const anyRaw = fc.oneof(
  fc.jsonValue(),
  fc.record({ provider: fc.constantFrom('a', 'b'), parts: fc.jsonValue() }),
  fc.record({
    provider: fc.constantFrom('a', 'b'),
    parts: fc.array(
      fc.oneof(
        fc.record({
          type: fc.constant('tool-call'),
          toolCallId: fc.uuid(),
          toolName: texts,
          input: fc.jsonValue(),
        }),
        fc.record({ type: fc.constant('text'), text: texts }),
        fc.jsonValue(),
      ),
      { maxLength: 4 },
    ),
  }),
);

it('the tool calls of a journaled model answer are sent back to the model with the ids of the run', () => {
  fc.assert(
    fc.property(texts, calls, anyRaw, (text, made, raw) => {
      const messages: ModelMessage[] = [
        { role: 'user', text: 'x' },
        { role: 'assistant', text, calls: made, raw },
      ];
      const [, assistant] = promptOf('', messages, 'a');
      const parts = (assistant?.content ?? []) as readonly {
        readonly type: string;
        readonly toolCallId?: string;
      }[];
      const ids = parts.filter(({ type }) => type === 'tool-call').map(({ toolCallId }) => toolCallId);
      expect(ids).toEqual(made.map(({ id }) => id));
    }),
  );
});
