import { describe, expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import {
  type ModelFault,
  ModelFaultError,
  nameOf,
} from '../../../../../actors/agents/models/model-errors.ts';
import { repeated } from '../../../../../actors/agents/models/repeat.ts';

const named = (provider: string) => ({ provider, model: 'm' });
const fault = (more: Partial<ModelFault> = {}): ModelFault => ({
  what: 'answered 500',
  isFinal: false,
  ...more,
});

/** Each attempt takes the next of the outcomes; the last again and again. */
async function run(
  outcomes: readonly (ModelFault | string)[],
  {
    models = ['a'],
    retries = 2,
    leftMs = 5_000,
    signal = new AbortController().signal,
    firstPauseMs = 1,
  } = {},
) {
  const asked: string[] = [];
  const told: string[] = [];
  const pauses: (readonly [reason: string, inMs: number])[] = [];
  const [first = '', ...others] = models;
  const began = performance.now();
  const result = await repeated(
    {
      models: [named(first), ...others.map(named)],
      retries,
      leftMs,
      signal,
      firstPauseMs,
      onRetry: (reason, inMs) => void pauses.push([reason, inMs]),
      onRefusal: (model, what, next) => told.push(`${nameOf(model)} ${what}, next ${nameOf(next)}`),
    },
    async ({ provider }) => {
      const outcome = outcomes[Math.min(asked.push(provider), outcomes.length) - 1] ?? '';
      if (typeof outcome === 'string') return outcome;
      throw new ModelFaultError(outcome);
    },
  ).catch((error: unknown) => error);
  return { result, asked: asked.join(''), told, pauses, tookMs: performance.now() - began };
}

describe('asking again', () => {
  it('RJ1 asks a model as often as it may, then the next', async () => {
    const { result, asked } = await run([fault()], { models: ['a', 'b'] });
    expect(asked).toBe('aaabbb');
    expect(result).toBeInstanceOf(HandlerError);
    expect(result).toMatchObject({
      message: 'the model b:m answered 500; before it a:m answered 500',
      isFinal: false,
      isTooSoon: false,
    });
    expect(await run([fault(), fault(), fault(), 'yes'], { models: ['a', 'b'] })).toMatchObject({
      result: 'yes',
      asked: 'aaab',
    });
  });

  it('RJ1 asks the next at once where something is final of one model alone, and says so', async () => {
    const revoked = fault({ what: 'answered 401', isFinal: true, canOtherAnswer: true });
    expect(await run([revoked, 'yes'], { models: ['a', 'b'] })).toMatchObject({
      result: 'yes',
      asked: 'ab',
      told: ['a:m answered 401, next b:m'],
    });
    const both = await run([revoked], { models: ['a', 'b'] });
    expect(both).toMatchObject({ asked: 'ab', told: ['a:m answered 401, next b:m'] });
    expect(both.result).toMatchObject({
      isFinal: true,
      message: 'the model b:m answered 401; before it a:m answered 401',
    });
  });

  it('is tried again as long as one of several may answer then, and too soon only by those', async () => {
    const revoked = fault({ what: 'answered 401', isFinal: true, canOtherAnswer: true });
    const away = fault({ what: 'answered 429', isTooSoon: true, retryAfterMs: 90_000 });
    for (const outcomes of [
      [revoked, away],
      [away, revoked],
    ])
      expect((await run(outcomes, { models: ['a', 'b'] })).result).toMatchObject({
        isFinal: false,
        isTooSoon: true,
        retryAfterMs: 90_000,
      });
    const refused = fault({ what: 'answered 400', isFinal: true });
    expect((await run([away, refused], { models: ['a', 'b', 'c'] })).result).toMatchObject({ isFinal: true });
  });

  it('tells of each pause, and of the next model', async () => {
    const { pauses } = await run([fault({ retryAfterMs: 20 })], { models: ['a', 'b'], retries: 1 });
    expect(pauses).toEqual([
      ['the model a:m answered 500', 20],
      ['the model a:m answered 500', 0],
      ['the model b:m answered 500', 20],
    ]);
  });

  it('RJ1 ends all with what is final', async () => {
    const { result, asked } = await run([fault(), fault({ what: 'answered 400', isFinal: true })], {
      models: ['a', 'b'],
    });
    expect(asked).toBe('aa');
    expect(result).toMatchObject({ isFinal: true, message: 'the model a:m answered 400' });
  });

  it('RJ1 goes to the next model at once where a quota is used up', async () => {
    const usedUp = fault({ what: 'answered 429 (insufficient_quota)', isTooSoon: true, isUsedUp: true });
    expect(await run([usedUp, 'yes'], { models: ['a', 'b'] })).toMatchObject({ result: 'yes', asked: 'ab' });
  });

  it('RJ2 goes to the next model where a pause is too long to wait for', async () => {
    const away = fault({ what: 'answered 429', isTooSoon: true, retryAfterMs: 60_000 });
    expect(await run([away, 'yes'], { models: ['a', 'b'], leftMs: 300_000 })).toMatchObject({
      result: 'yes',
      asked: 'ab',
    });
  });

  it('RJ2 leaves a pause that is longer than the time to whoever can wait without a place', async () => {
    const away = fault({ what: 'answered 429', isTooSoon: true, retryAfterMs: 20_000 });
    const { result, asked, tookMs } = await run([away], { leftMs: 5_000 });
    expect(asked).toBe('a');
    expect(tookMs).toBeLessThan(4_500);
    expect(result).toMatchObject({ isTooSoon: true, isFinal: false, retryAfterMs: 20_000 });
  });

  it('is too soon only where it is for each model, until the first will answer again', async () => {
    const away = (retryAfterMs: number) => fault({ what: 'answered 429', isTooSoon: true, retryAfterMs });
    const both = await run([away(90_000), away(40_000)], { models: ['a', 'b'] });
    expect(both.result).toMatchObject({ isTooSoon: true, retryAfterMs: 40_000 });
    const one = await run([away(90_000), fault()], { models: ['a', 'b'], retries: 0 });
    expect(one.result).toMatchObject({ isTooSoon: false, retryAfterMs: undefined });
  });

  it('RJ3 keeps a pause that is named, and lets its own grow', async () => {
    const named = await run([fault({ retryAfterMs: 300 }), 'yes']);
    expect(named).toMatchObject({ result: 'yes', asked: 'aa' });
    expect(named.tookMs).toBeGreaterThan(290);
    const grown = await run([fault()], { retries: 3, firstPauseMs: 50 });
    // At least half of 50, 100 and 200.
    expect(grown.tookMs).toBeGreaterThan(170);
  });

  it('ends with the reason of whoever gives up, in a pause too', async () => {
    const control = new AbortController();
    setTimeout(() => control.abort(new Error('enough')), 50);
    const { result, asked, tookMs } = await run([fault({ retryAfterMs: 10_000 })], {
      signal: control.signal,
      leftMs: 60_000,
    });
    expect(result).toMatchObject({ message: 'enough' });
    expect(asked).toBe('a');
    expect(tookMs).toBeLessThan(5_000);
  });
});
