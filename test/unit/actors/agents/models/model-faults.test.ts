import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { ask, KEY, modelsAt, question, types } from '../../../../fixtures/models/asking.ts';
import { failure } from '../../../../fixtures/models/failure.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import type { Reply } from '../../../../fixtures/models/reply.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
beforeEach(() => server.reset());

const whole: Reply = { text: ['We ', 'are open.'] };
const secret = 'what a provider writes';

describe.each(types)('a model of %s', (type) => {
  it.each([
    [400, 1, ''],
    [401, 2, ': is the key of its provider right?'],
    [402, 2, ': is the account of its provider paid for?'],
    [403, 2, ': may the key of its provider use this model?'],
    [
      404,
      2,
      ': is there a model of that name, and does the base_url of its provider end where its API begins, mostly with /v1?',
    ],
    [422, 1, ''],
  ])(
    'ME1 ME2 ME3 that answers %i has answered for good, is asked %i times with itself for a fallback, and nothing it wrote is told',
    async (status, times, advice) => {
      const reply = { status, message: secret, headers: { 'x-note': secret } };
      server.reply(reply, reply);
      const error = await failure(ask(modelsAt(server.url), [type, type], question(), { retries: 3 }));
      expect(error).toMatchObject({ isFinal: true, isTooSoon: false });
      const said = `${type}:m-1 answered ${status}${advice}`;
      expect(error.message).toBe(`the model ${[said, said].slice(0, times).join('; before it ')}`);
      expect(error.cause).toBeUndefined();
      expect(`${error.stack}`).not.toContain(secret);
      expect(`${error.stack}`).not.toContain(KEY);
      expect(server.requests).toHaveLength(times);
    },
  );

  it.each([408, 409, 429, 500, 502, 503, 529])('ME2 that answers %i is asked again', async (status) => {
    server.reply({ status, message: secret }, whole);
    const answer = await ask(modelsAt(server.url), [type], question(), { retries: 1 });
    expect(answer.text).toBe('We are open.');
    expect(server.requests).toHaveLength(2);
  });

  it.each<[string, Reply]>([
    ['resets the connection at once', { reset: true }],
    ['resets it in the middle', { ...whole, cut: { afterBytes: 300, how: 'reset' } }],
    ['ends its stream too soon', { ...whole, cut: { afterBytes: 300, how: 'end' } }],
    ['writes no JSON in between', { ...whole, inserted: { at: 1, raw: `data: {"${secret}\n\n` } }],
  ])('AK3 that %s is asked again, and what it had said is thrown away', async (_, reply) => {
    server.reply(reply, { text: ['No, ', 'closed.'] });
    const seen: string[] = [];
    const answer = await ask(modelsAt(server.url), [type], question(), {
      retries: 1,
      onText: (text) => seen.push(text),
    });
    expect(answer.text).toBe('No, closed.');
    expect(seen.slice(-2)).toEqual(['No, ', 'No, closed.']);
    expect(server.requests).toHaveLength(2);
    const error = await failure(ask(modelsAt(server.reply(reply).url), [type], question()));
    expect(error).toMatchObject({ isFinal: false, isTooSoon: false });
    expect(`${error.stack}`).not.toContain(secret);
  });

  it.each<[string, Reply]>([
    ['falls silent', { ...whole, cut: { afterBytes: 300, how: 'silence' } }],
    ['does not answer', { ...whole, delayMs: 60_000 }],
  ])('XC1 that %s is asked again', async (_, reply) => {
    server.reply(reply, { text: ['No, ', 'closed.'] });
    const models = modelsAt(server.url, { limits: { firstByteMs: 400, idleMs: 400 } });
    expect(await ask(models, [type], question(), { retries: 1 })).toMatchObject({ text: 'No, closed.' });
    expect(server.requests.map(({ wasGivenUp }) => wasGivenUp)).toEqual([true, false]);
  });

  it('that is slow, and never silent for too long, is waited for', async () => {
    const text = Array.from({ length: 12 }, (_, n) => `${n} `);
    server.reply({ text, pauseMs: 100 });
    const models = modelsAt(server.url, { limits: { firstByteMs: 600, idleMs: 600 } });
    expect((await ask(models, [type], question())).text).toBe(text.join(''));
  });

  it('RJ3 that says for how long to stay away is asked after that, and by whoever can wait where it is too long', async () => {
    const away = (seconds: string): Reply => ({ status: 429, headers: { 'retry-after': seconds } });
    server.reply(away('1'), whole, away('90'));
    const began = performance.now();
    expect((await ask(modelsAt(server.url), [type], question(), { retries: 1 })).text).toBe('We are open.');
    expect(performance.now() - began).toBeGreaterThan(950);
    const error = await failure(ask(modelsAt(server.url), [type], question(), { retries: 3 }));
    expect(error).toMatchObject({ isFinal: false, isTooSoon: true, retryAfterMs: 90_000 });
    expect(server.requests).toHaveLength(3);
  });

  it('XC3 that answers with a page has a wrong address, and is not asked again', async () => {
    server.reply({ ...whole, contentType: 'text/html' });
    const error = await failure(ask(modelsAt(server.url), [type], question(), { retries: 3 }));
    expect(error.message).toBe(
      `the model ${type}:m-1 answered with text/html, not with an event stream: is base_url the address of its API?`,
    );
    expect(error.isFinal).toBe(true);
  });

  it('AK4 that never ends its answer is stopped', async () => {
    const text = Array.from({ length: 40 }, () => 'x'.repeat(100));
    server.reply({ text, cut: { afterBytes: 4_500, how: 'silence' } });
    const models = modelsAt(server.url, { limits: { maxAnswerSize: 1_000 } });
    const error = await failure(ask(models, [type], question(), { retries: 3 }));
    expect(error).toMatchObject({ isFinal: true });
    expect(error.message).toContain('answered more than 1000 characters');
    await expect.poll(() => server.requests[0]?.wasGivenUp).toBe(true);
  });

  it('XC1 that never ends a line, or writes too much around its text, is stopped', async () => {
    const models = modelsAt(server.url, { limits: { maxLineBytes: 10_000, maxBytes: 50_000 } });
    server.reply({ text: 'x'.repeat(100_000) });
    expect(await failure(ask(models, [type], question()))).toMatchObject({ isFinal: true });
    server.reply({ text: Array.from({ length: 1_000 }, () => 'word ') });
    const error = await failure(ask(models, [type], question()));
    expect(error.message).toMatch(/answered more than (50000|10000) bytes/);
  });

  it('PW1 XC4 is let go when whoever asked gives up', async () => {
    const control = new AbortController();
    server.reply({ ...whole, cut: { afterBytes: 300, how: 'silence' } });
    const asked = ask(modelsAt(server.url), [type], question(), { retries: 3, signal: control.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    setTimeout(() => control.abort(new Error('given up by a test')), 50);
    await expect(asked).rejects.toThrow('given up by a test');
    await expect.poll(() => server.requests[0]?.wasGivenUp).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  it('gives none after the time that is left', async () => {
    server.reply({ ...whole, cut: { afterBytes: 300, how: 'silence' } });
    const began = performance.now();
    const error = await failure(ask(modelsAt(server.url), [type], question(), { retries: 3, leftMs: 300 }));
    expect(error).toMatchObject({ isFinal: false });
    expect(error.message).toMatch(/gave no answer within \d+ ms/);
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(server.requests).toHaveLength(1);
  });

  it('XC2 that redirects is not followed', async () => {
    const other = await ModelServer.start();
    server.reply({ status: 307, headers: { location: `${other.url}/v1/messages` } });
    const error = await failure(ask(modelsAt(server.url), [type], question(), { retries: 3 }));
    expect(error).toMatchObject({ isFinal: true });
    expect(error.message).toContain('redirects are not followed');
    expect(other.requests).toHaveLength(0);
  });

  it('that cannot be reached is asked again, and then it is no final failure', async () => {
    const gone: Server = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`;
    await new Promise((resolve) => gone.close(resolve));
    const error = await failure(ask(modelsAt(url), [type], question(), { retries: 2 }));
    expect(error).toMatchObject({ isFinal: false, isTooSoon: false });
    expect(error.message).toBe(
      `the model ${type}:m-1 could not be reached, or broke off: ECONNREFUSED (nothing listens at the base_url of its provider)`,
    );
  });
});

it('an error that a provider reports within its stream counts as the status it stands for', async () => {
  const overloaded =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n';
  server.reply({ ...whole, inserted: { at: 3, raw: overloaded } }, whole);
  expect(await ask(modelsAt(server.url), ['anthropic'], question(), { retries: 1 })).toMatchObject({
    text: 'We are open.',
  });
  const denied = 'data: {"error":{"code":403,"message":"x","status":"PERMISSION_DENIED"}}\n\n';
  server.reply({ ...whole, inserted: { at: 1, raw: denied } });
  const error = await failure(ask(modelsAt(server.url), ['google'], question(), { retries: 3 }));
  expect(error).toMatchObject({
    isFinal: true,
    message: expect.stringMatching(/^the model google:m-1 answered 403: may the key/),
  });
});

it.each([
  ['openai', 400, { error: { code: 'context_length_exceeded', message: 'x' } }, 'context_length_exceeded'],
  ['google', 400, { error: { code: 400, message: 'API key not valid. Please …' } }, 'invalid_api_key'],
  [
    'anthropic',
    400,
    { error: { type: 'invalid_request_error', message: 'prompt is too long: 2 > 1' } },
    'context_length_exceeded',
  ],
] as const)(
  'ME3 what is final of a model of %s alone is asked of its fallback',
  async (type, status, body, reason) => {
    server.reply({ status, body: JSON.stringify(body) }, whole);
    const told: unknown[] = [];
    const log = { ...silentLog, error: (...line: unknown[]) => told.push(line) };
    const models = modelsAt(server.url, { log });
    const answer = await ask(models, [type, 'openai-compatible'], question(), { retries: 3 });
    expect(answer).toMatchObject({ text: 'We are open.', model: 'openai-compatible:m-1' });
    const fields = {
      model: `${type}:m-1`,
      next: 'openai-compatible:m-1',
      reason: `answered 400 (${reason})`,
    };
    expect(told).toEqual([[fields, 'a model refuses; its fallback is asked until that is mended']]);
  },
);

it('a provider that is asked without a key, and wants one, is told so', async () => {
  server.reply({ status: 401 });
  const models = modelsAt(server.url, {}, { api_key: undefined });
  expect((await failure(ask(models, ['openai-compatible'], question()))).message).toBe(
    'the model openai-compatible:m-1 answered 401: it was asked without a key; a provider that has a base_url of its own needs an api_key of its own',
  );
});

it('PW2 a refusal is told of once, until the model answers again', async () => {
  const told: string[] = [];
  const log = { ...silentLog, error: (fields: object) => told.push((fields as { reason: string }).reason) };
  const models = modelsAt(server.url, { log });
  const asking = () => ask(models, ['openai', 'anthropic'], question());
  server.reply(
    { status: 401 },
    whole,
    { status: 401 },
    whole,
    { status: 404 },
    whole,
    whole,
    { status: 404 },
    whole,
  );
  for (const model of ['anthropic', 'anthropic', 'anthropic', 'openai', 'anthropic'])
    expect((await asking()).model).toBe(`${model}:m-1`);
  expect(told.map((what) => what.replace(/:.*/, ''))).toEqual([
    'answered 401',
    'answered 404',
    'answered 404',
  ]);
});

it('XC1 timeout_seconds of a provider says for how long it may be silent', async () => {
  server.reply({ ...whole, delayMs: 60_000 });
  const models = modelsAt(server.url, {}, { timeout_seconds: 0.3 });
  expect((await failure(ask(models, ['openai'], question()))).message).toBe(
    'the model openai:m-1 was silent for 300 ms, and may be no longer by timeout_seconds of its provider',
  );
});

it('a model of a provider that nobody knows is none', async () => {
  const error = await failure(ask(modelsAt(server.url), ['elsewhere'], question()));
  expect(error).toMatchObject({
    isFinal: true,
    message: 'the model elsewhere:m-1 is of a provider that is not known',
  });
});
