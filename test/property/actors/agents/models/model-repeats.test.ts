// Retries of model requests (repeatRequest) with random outcomes: the number of requests is limited, final
// errors stop the retries, and the next model is used in order. Tool calls of stored answers keep their ids.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import type { ModelMessage } from '../../../../../actors/agents/models/model.ts';
import { ModelFaultError } from '../../../../../actors/agents/models/model-errors.ts';
import { promptOf } from '../../../../../actors/agents/models/prompt.ts';
import { repeatRequest } from '../../../../../actors/agents/models/retries.ts';

const temporaryFailure = fc.record({
  description: fc.constant('answered 500'),
  isFinal: fc.constant(false),
  isRateLimited: fc.boolean(),
  isUnusableNow: fc.boolean(),
  // Without a delay, or with a delay (ms) that exceeds the remaining time.
  retryAfterMs: fc.constantFrom(undefined, 100_000, 200_000),
});
/** Final for the request: no model can answer it. */
const requestError = fc.constant({ description: 'answered 400', isFinal: true });
/** Final for this model only: the next model may answer. */
const modelError = fc.constant({ description: 'answered 401', isFinal: true, mayFallbackAnswer: true });
const arbOutcome = fc.oneof(
  { arbitrary: temporaryFailure, weight: 8 },
  { arbitrary: requestError, weight: 1 },
  { arbitrary: modelError, weight: 2 },
  { arbitrary: fc.constant('yes'), weight: 1 },
);

it('no sequence of failures causes more model requests than allowed, and a final error stops the retries immediately', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(arbOutcome, { minLength: 30, maxLength: 30 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      async (outcomes, retries, modelCount) => {
        /** Model numbers of the requests. */
        const usedModels: number[] = [];
        const [first, ...others] = Array.from({ length: modelCount }, (_, n) => ({
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
            usedModels.push(Number(provider.slice(1)));
            const outcome = outcomes[usedModels.length - 1];
            if (typeof outcome === 'string') return outcome;
            throw new ModelFaultError(outcome as Exclude<typeof outcome, string | undefined>);
          },
        ).catch((error: unknown) => error);

        const outcomesSoFar = outcomes.slice(0, usedModels.length);
        const last = outcomesSoFar.at(-1);
        expect(usedModels.length).toBeLessThanOrEqual((retries + 1) * modelCount);
        // The models are used in order, each for at most one request and its retries.
        expect(usedModels).toEqual([...usedModels].sort((a, b) => a - b));
        for (const model of usedModels)
          expect(usedModels.filter((each) => each === model).length).toBeLessThanOrEqual(retries + 1);
        // No request follows an answer or an error that is final for the request. A model with a final error
        // receives no further request.
        const isModelError = (each: (typeof outcomes)[number] | undefined): boolean =>
          typeof each === 'object' && 'mayFallbackAnswer' in each;
        expect(
          outcomesSoFar
            .slice(0, -1)
            .some((each) => typeof each === 'string' || (each.isFinal && !isModelError(each))),
        ).toBe(false);
        for (const [n, each] of outcomesSoFar.entries())
          if (isModelError(each)) expect(usedModels[n + 1]).not.toBe(usedModels[n]);
        if (typeof last === 'string') {
          expect(result).toBe('yes');
          return;
        }
        expect(result).toBeInstanceOf(HandlerError);
        const error = result as HandlerError;
        // The result is final if the last outcome of each model is final, or if a request error ended it.
        const lastOutcomes = outcomesSoFar.filter((_, n) => usedModels[n] !== usedModels[n + 1]);
        const isFinalOf = (each: (typeof outcomes)[number] | undefined): boolean =>
          typeof each === 'object' && each.isFinal;
        expect(error.isFinal).toBe((isFinalOf(last) && !isModelError(last)) || lastOutcomes.every(isFinalOf));
        if (!isFinalOf(last) || isModelError(last)) expect(new Set(usedModels).size).toBe(modelCount);
        // An outcome with a long delay or an exhausted quota is not retried with the same model.
        for (const [n, each] of outcomesSoFar.entries())
          if (
            typeof each === 'object' &&
            'isUnusableNow' in each &&
            (each.isUnusableNow || each.retryAfterMs !== undefined)
          )
            expect(usedModels[n + 1]).not.toBe(usedModels[n]);
      },
    ),
    { numRuns: 300 },
  );
});

const arbText = fc.string({ maxLength: 10 });
const arbCalls = fc.array(
  fc.record({ id: fc.uuid(), name: fc.constant('look_up'), input: fc.oneof(arbText, fc.json()) }),
  { maxLength: 3 },
);
/** Stored raw provider answer (`a` or `b`), or arbitrary JSON. */
const arbRaw = fc.oneof(
  fc.jsonValue(),
  fc.record({ provider: fc.constantFrom('a', 'b'), parts: fc.jsonValue() }),
  fc.record({
    provider: fc.constantFrom('a', 'b'),
    parts: fc.array(
      fc.oneof(
        fc.record({
          type: fc.constant('tool-call'),
          toolCallId: fc.uuid(),
          toolName: arbText,
          input: fc.jsonValue(),
        }),
        fc.record({ type: fc.constant('text'), text: arbText }),
        fc.jsonValue(),
      ),
      { maxLength: 4 },
    ),
  }),
);

it('the tool calls of a stored model answer are sent back to the model with the call ids of the run', () => {
  fc.assert(
    fc.property(arbText, arbCalls, arbRaw, (text, calls, raw) => {
      const messages: ModelMessage[] = [
        { role: 'user', text: 'x' },
        { role: 'assistant', text, calls, raw },
      ];
      const [, assistant] = promptOf({ system: '', messages }, new Map(), { name: 'a', type: 'openai' });
      const parts = (assistant?.content ?? []) as readonly {
        readonly type: string;
        readonly toolCallId?: string;
      }[];
      const ids = parts.filter(({ type }) => type === 'tool-call').map(({ toolCallId }) => toolCallId);
      expect(ids).toEqual(calls.map(({ id }) => id));
    }),
  );
});
