import { describe, expect, it } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import {
  type ModelFault,
  ModelFaultError,
  nameOf,
} from '../../../../../actors/agents/models/model-errors.ts';
import { repeatRequest } from '../../../../../actors/agents/models/retries.ts';

const modelOf = (provider: string) => ({ provider, model: 'm' });
const fault = (more: Partial<ModelFault> = {}): ModelFault => ({
  description: 'answered 500',
  isFinal: false,
  ...more,
});

/** Returns one outcome per attempt; the last outcome repeats. */
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
  const requestedModels: string[] = [];
  const notices: string[] = [];
  const pauses: (readonly [reason: string, inMs: number])[] = [];
  const [first = '', ...others] = models;
  const began = performance.now();
  const result = await repeatRequest(
    {
      models: [modelOf(first), ...others.map(modelOf)],
      retries,
      remainingMs: leftMs,
      signal,
      firstPauseMs,
      onRetry: (reason, inMs) => void pauses.push([reason, inMs]),
      onRefusal: (model, what, next) => notices.push(`${nameOf(model)} ${what}, next ${nameOf(next)}`),
    },
    async ({ provider }) => {
      const outcome = outcomes[Math.min(requestedModels.push(provider), outcomes.length) - 1] ?? '';
      if (typeof outcome === 'string') return outcome;
      throw new ModelFaultError(outcome);
    },
  ).catch((error: unknown) => error);
  return {
    result,
    requestedModels: requestedModels.join(''),
    notices,
    pauses,
    tookMs: performance.now() - began,
  };
}

describe('repeatRequest', () => {
  it('retries a model up to its limit, then the next model', async () => {
    const { result, requestedModels } = await run([fault()], { models: ['a', 'b'] });
    expect(requestedModels).toBe('aaabbb');
    expect(result).toBeInstanceOf(HandlerError);
    expect(result).toMatchObject({
      message: 'the model b:m answered 500; before it a:m answered 500',
      isFinal: false,
      isRateLimited: false,
    });
    expect(await run([fault(), fault(), fault(), 'yes'], { models: ['a', 'b'] })).toMatchObject({
      result: 'yes',
      requestedModels: 'aaab',
    });
  });

  it('requests the next model immediately, with a log entry, if an error is permanent for one model only', async () => {
    const revoked = fault({ description: 'answered 401', isFinal: true, mayFallbackAnswer: true });
    expect(await run([revoked, 'yes'], { models: ['a', 'b'] })).toMatchObject({
      result: 'yes',
      requestedModels: 'ab',
      notices: ['a:m answered 401, next b:m'],
    });
    const both = await run([revoked], { models: ['a', 'b'] });
    expect(both).toMatchObject({ requestedModels: 'ab', notices: ['a:m answered 401, next b:m'] });
    expect(both.result).toMatchObject({
      isFinal: true,
      message: 'the model b:m answered 401; before it a:m answered 401',
    });
  });

  it('throws a retryable error if any model may answer later, and marks it rate limited only for such models', async () => {
    const revoked = fault({ description: 'answered 401', isFinal: true, mayFallbackAnswer: true });
    const rateLimited = fault({ description: 'answered 429', isRateLimited: true, retryAfterMs: 90_000 });
    for (const outcomes of [
      [revoked, rateLimited],
      [rateLimited, revoked],
    ])
      expect((await run(outcomes, { models: ['a', 'b'] })).result).toMatchObject({
        isFinal: false,
        isRateLimited: true,
        retryAfterMs: 90_000,
      });
    const refused = fault({ description: 'answered 400', isFinal: true });
    expect((await run([rateLimited, refused], { models: ['a', 'b', 'c'] })).result).toMatchObject({
      isFinal: true,
    });
  });

  it('reports each pause and each change of model', async () => {
    const { pauses } = await run([fault({ retryAfterMs: 20 })], { models: ['a', 'b'], retries: 1 });
    expect(pauses).toEqual([
      ['the model a:m answered 500', 20],
      ['the model a:m answered 500', 0],
      ['the model b:m answered 500', 20],
    ]);
  });

  it('stops at an error that no retry solves', async () => {
    const { result, requestedModels } = await run(
      [fault(), fault({ description: 'answered 400', isFinal: true })],
      {
        models: ['a', 'b'],
      },
    );
    expect(requestedModels).toBe('aa');
    expect(result).toMatchObject({ isFinal: true, message: 'the model a:m answered 400' });
  });

  it('requests the next model immediately if a quota is exhausted', async () => {
    const quotaExceeded = fault({
      description: 'answered 429 (insufficient_quota)',
      isRateLimited: true,
      isUnusableNow: true,
    });
    expect(await run([quotaExceeded, 'yes'], { models: ['a', 'b'] })).toMatchObject({
      result: 'yes',
      requestedModels: 'ab',
    });
  });

  it('requests the next model if a pause is too long', async () => {
    const rateLimited = fault({ description: 'answered 429', isRateLimited: true, retryAfterMs: 60_000 });
    expect(await run([rateLimited, 'yes'], { models: ['a', 'b'], leftMs: 300_000 })).toMatchObject({
      result: 'yes',
      requestedModels: 'ab',
    });
  });

  it('fails immediately with the requested pause if the pause is longer than the remaining time', async () => {
    const rateLimited = fault({ description: 'answered 429', isRateLimited: true, retryAfterMs: 20_000 });
    const { result, requestedModels, tookMs } = await run([rateLimited], { leftMs: 5_000 });
    expect(requestedModels).toBe('a');
    expect(tookMs).toBeLessThan(4_500);
    expect(result).toMatchObject({ isRateLimited: true, isFinal: false, retryAfterMs: 20_000 });
  });

  it('fails as rate limited only if every model is, with the shortest of their pauses', async () => {
    const rateLimited = (retryAfterMs: number) =>
      fault({ description: 'answered 429', isRateLimited: true, retryAfterMs });
    const both = await run([rateLimited(90_000), rateLimited(40_000)], { models: ['a', 'b'] });
    expect(both.result).toMatchObject({ isRateLimited: true, retryAfterMs: 40_000 });
    const result = await run([rateLimited(90_000), fault()], { models: ['a', 'b'], retries: 0 });
    expect(result.result).toMatchObject({ isRateLimited: false, retryAfterMs: undefined });
  });

  it('respects a pause that a provider requests, and increases its own pauses', async () => {
    const modelOf = await run([fault({ retryAfterMs: 300 }), 'yes']);
    expect(modelOf).toMatchObject({ result: 'yes', requestedModels: 'aa' });
    expect(modelOf.tookMs).toBeGreaterThan(290);
    const grown = await run([fault()], { retries: 3, firstPauseMs: 50 });
    // At least half of 50, 100 and 200.
    expect(grown.tookMs).toBeGreaterThan(170);
  });

  it('ends with the abort reason, also during a pause', async () => {
    const control = new AbortController();
    setTimeout(() => control.abort(new Error('enough')), 50);
    const { result, requestedModels, tookMs } = await run([fault({ retryAfterMs: 10_000 })], {
      signal: control.signal,
      leftMs: 60_000,
    });
    expect(result).toMatchObject({ message: 'enough' });
    expect(requestedModels).toBe('a');
    expect(tookMs).toBeLessThan(5_000);
  });
});
