import fc from 'fast-check';
import { expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import { promptOf } from '../../../../../actors/agents/models/ask-once.ts';
import type { ModelMessage } from '../../../../../actors/agents/models/model.ts';
import { ModelFaultError } from '../../../../../actors/agents/models/model-errors.ts';
import { repeated } from '../../../../../actors/agents/models/repeat.ts';

const passing = fc.record({
  what: fc.constant('answered 500'),
  isFinal: fc.constant(false),
  isTooSoon: fc.boolean(),
  isUsedUp: fc.boolean(),
  // Too long to be waited for, or none.
  retryAfterMs: fc.constantFrom(undefined, 100_000, 200_000),
});
const final = fc.constant({ what: 'answered 400', isFinal: true });
const ofModel = fc.constant({ what: 'answered 401', isFinal: true, canOtherAnswer: true });
const outcome = fc.oneof(
  { arbitrary: passing, weight: 8 },
  { arbitrary: final, weight: 1 },
  { arbitrary: ofModel, weight: 2 },
  { arbitrary: fc.constant('yes'), weight: 1 },
);

it('RJ1 no sequence of failures makes more requests than retries and models allow, and what is final of the question ends at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(outcome, { minLength: 30, maxLength: 30 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 4 }),
      async (outcomes, retries, count) => {
        const asked: number[] = [];
        const [first, ...others] = Array.from({ length: count }, (_, n) => ({
          provider: `p${n}`,
          model: 'm',
        }));
        const result = await repeated(
          {
            models: [first as NonNullable<typeof first>, ...others],
            retries,
            leftMs: 60_000,
            signal: new AbortController().signal,
            firstPauseMs: 0,
          },
          async ({ provider }) => {
            asked.push(Number(provider.slice(1)));
            const each = outcomes[asked.length - 1];
            if (typeof each === 'string') return each;
            throw new ModelFaultError(each as Exclude<typeof each, string | undefined>);
          },
        ).catch((error: unknown) => error);

        const seen = outcomes.slice(0, asked.length);
        const last = seen.at(-1);
        expect(asked.length).toBeLessThanOrEqual((retries + 1) * count);
        expect(asked).toEqual([...asked].sort((a, b) => a - b));
        expect(Math.max(...asked.map((n) => asked.filter((each) => each === n).length))).toBeLessThanOrEqual(
          retries + 1,
        );
        // Nothing is asked after an answer, or after what is final of the question; of a model nothing after what is final of it.
        const isOfModel = (each: (typeof outcomes)[number] | undefined): boolean =>
          typeof each === 'object' && 'canOtherAnswer' in each;
        expect(
          seen.slice(0, -1).some((each) => typeof each === 'string' || (each.isFinal && !isOfModel(each))),
        ).toBe(false);
        for (const [n, each] of seen.entries()) if (isOfModel(each)) expect(asked[n + 1]).not.toBe(asked[n]);
        if (typeof last === 'string') {
          expect(result).toBe('yes');
          return;
        }
        expect(result).toBeInstanceOf(HandlerError);
        const error = result as HandlerError;
        // The last word of each model; it is over where none of them may change.
        const ends = seen.filter((_, n) => asked[n] !== asked[n + 1]);
        const isFinalOf = (each: (typeof outcomes)[number] | undefined): boolean =>
          typeof each === 'object' && each.isFinal;
        expect(error.isFinal).toBe((isFinalOf(last) && !isOfModel(last)) || ends.every(isFinalOf));
        if (!isFinalOf(last) || isOfModel(last)) expect(new Set(asked).size).toBe(count);
        // A pause that is too long, and a quota that is used up, are asked once.
        for (const [n, each] of seen.entries())
          if (
            typeof each === 'object' &&
            'isUsedUp' in each &&
            (each.isUsedUp || each.retryAfterMs !== undefined)
          )
            expect(asked[n + 1]).not.toBe(asked[n]);
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

it('PJ2 whatever a journal has kept of an answer, its calls go back under the ids of the run', () => {
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
