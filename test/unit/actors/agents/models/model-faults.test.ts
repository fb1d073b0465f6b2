// The invariants ME1 and ME3 are in actors/agents/models/model-errors.ts.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { failure } from '../../../../fixtures/models/failure.ts';
import {
  KEY,
  lookUp,
  modelRequest,
  modelsAt,
  providerTypes,
  requestModel,
} from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import type { Reply } from '../../../../fixtures/models/reply.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
beforeEach(() => server.reset());

const whole: Reply = { text: ['We ', 'are open.'] };
const secret = 'what a provider writes';

describe.each(providerTypes)('with provider %s', (type) => {
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
    'a model response %i is not retried, fails after %i requests with a fallback, and is not quoted (ME1, ME3)',
    async (status, times, advice) => {
      const reply = { status, message: secret, headers: { 'x-note': secret } };
      server.reply(reply, reply);
      const error = await failure(
        requestModel(modelsAt(server.url), [type, type], modelRequest(), { retries: 3 }),
      );
      expect(error).toMatchObject({ isFinal: true, isRateLimited: false });
      const code = type === 'google' ? 'INVALID_ARGUMENT' : 'invalid_request_error';
      const message = `${type}:m-1 answered ${status}${advice === '' ? ` (${code})` : advice}`;
      expect(error.message).toBe(`the model ${[message, message].slice(0, times).join('; before it ')}`);
      expect(error.cause).toBeUndefined();
      expect(`${error.stack}`).not.toContain(secret);
      expect(`${error.stack}`).not.toContain(KEY);
      expect(server.requests).toHaveLength(times);
    },
  );

  it.each([408, 409, 429, 500, 502, 503, 529])('that responds %i is requested again', async (status) => {
    server.reply({ status, message: secret }, whole);
    const answer = await requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 1 });
    expect(answer.text).toBe('We are open.');
    expect(server.requests).toHaveLength(2);
  });

  it.each<[string, Reply]>([
    ['resets the connection immediately', { reset: true }],
    ['resets the connection mid-stream', { ...whole, cut: { afterBytes: 300, how: 'reset' } }],
    ['ends its stream too early', { ...whole, cut: { afterBytes: 300, how: 'end' } }],
    ['sends invalid JSON', { ...whole, inserted: { at: 1, raw: `data: {"${secret}\n\n` } }],
  ])('a model that %s is requested again, and its partial text is discarded', async (_, reply) => {
    server.reply(reply, { text: ['No, ', 'closed.'] });
    const requests: string[] = [];
    const answer = await requestModel(modelsAt(server.url), [type], modelRequest(), {
      retries: 1,
      onText: (text) => requests.push(text),
    });
    expect(answer.text).toBe('No, closed.');
    expect(requests.slice(-2)).toEqual(['No, ', 'No, closed.']);
    expect(server.requests).toHaveLength(2);
    const error = await failure(requestModel(modelsAt(server.reply(reply).url), [type], modelRequest()));
    expect(error).toMatchObject({ isFinal: false, isRateLimited: false });
    expect(`${error.stack}`).not.toContain(secret);
  });

  it.each<[string, Reply]>([
    ['stops sending', { ...whole, cut: { afterBytes: 300, how: 'silence' } }],
    ['does not answer', { ...whole, delayMs: 60_000 }],
  ])('a model that %s is requested again (XC1)', async (_, reply) => {
    server.reply(reply, { text: ['No, ', 'closed.'] });
    const models = modelsAt(server.url, { limits: { firstByteMs: 400, idleMs: 400 } });
    expect(await requestModel(models, [type], modelRequest(), { retries: 1 })).toMatchObject({
      text: 'No, closed.',
    });
    expect(server.requests.map(({ wasCancelled: wasGivenUp }) => wasGivenUp)).toEqual([true, false]);
  });

  it('a model that is slow, but never silent for too long, is not interrupted', async () => {
    const text = Array.from({ length: 12 }, (_, n) => `${n} `);
    server.reply({ text, pauseMs: 100 });
    const models = modelsAt(server.url, { limits: { firstByteMs: 600, idleMs: 600 } });
    expect((await requestModel(models, [type], modelRequest())).text).toBe(text.join(''));
  });

  it('a model that sends Retry-After is requested again after the delay; a long delay is left to the caller', async () => {
    const rateLimited = (seconds: string): Reply => ({ status: 429, headers: { 'retry-after': seconds } });
    server.reply(rateLimited('1'), whole, rateLimited('90'));
    const began = performance.now();
    expect((await requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 1 })).text).toBe(
      'We are open.',
    );
    expect(performance.now() - began).toBeGreaterThan(950);
    const error = await failure(requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 3 }));
    expect(error).toMatchObject({ isFinal: false, isRateLimited: true, retryAfterMs: 90_000 });
    expect(server.requests).toHaveLength(3);
  });

  it('a model address that returns a web page is reported as wrong, and is not requested again', async () => {
    server.reply({ ...whole, contentType: 'text/html' });
    const error = await failure(requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 3 }));
    expect(error.message).toBe(
      `the model ${type}:m-1 answered with text/html instead of an event stream: is base_url the address of its API?`,
    );
    expect(error.isFinal).toBe(true);
  });

  it('a request to a model that never ends its answer is cancelled', async () => {
    const text = Array.from({ length: 40 }, () => 'x'.repeat(100));
    server.reply({ text, cut: { afterBytes: 4_500, how: 'silence' } });
    const models = modelsAt(server.url, { limits: { maxAnswerSize: 1_000 } });
    const error = await failure(requestModel(models, [type], modelRequest(), { retries: 3 }));
    expect(error).toMatchObject({ isFinal: true });
    expect(error.message).toContain('answered more than 1000 characters');
    await expect.poll(() => server.requests[0]?.wasCancelled).toBe(true);
  });

  it('a request to a model that never ends a line, or sends too much besides its text, is cancelled (XC1)', async () => {
    const models = modelsAt(server.url, { limits: { maxLineBytes: 10_000, maxBytes: 50_000 } });
    server.reply({ text: 'x'.repeat(100_000) });
    expect(await failure(requestModel(models, [type], modelRequest()))).toMatchObject({ isFinal: true });
    server.reply({ text: Array.from({ length: 1_000 }, () => 'word ') });
    const error = await failure(requestModel(models, [type], modelRequest()));
    expect(error.message).toMatch(/answered more than (50000|10000) bytes/);
  });

  it('the connection to a model is closed when the caller aborts the request', async () => {
    const control = new AbortController();
    server.reply({ ...whole, cut: { afterBytes: 300, how: 'silence' } });
    const answer = requestModel(modelsAt(server.url), [type], modelRequest(), {
      retries: 3,
      signal: control.signal,
    });
    await expect.poll(() => server.requests.length).toBe(1);
    setTimeout(() => control.abort(new Error('aborted by the test')), 50);
    await expect(answer).rejects.toThrow('aborted by the test');
    await expect.poll(() => server.requests[0]?.wasCancelled).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  it('a model is not requested again when the attempt has no time left', async () => {
    server.reply({ ...whole, cut: { afterBytes: 300, how: 'silence' } });
    const began = performance.now();
    const error = await failure(
      requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 3, leftMs: 300 }),
    );
    expect(error).toMatchObject({ isFinal: false });
    expect(error.message).toMatch(/did not answer within \d+ ms/);
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(server.requests).toHaveLength(1);
  });

  it('a model that responds with a redirect is not requested at the new address', async () => {
    const other = await ModelServer.start();
    server.reply({ status: 307, headers: { location: `${other.url}/v1/messages` } });
    const error = await failure(requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 3 }));
    expect(error).toMatchObject({ isFinal: true });
    expect(error.message).toContain('redirects are not followed');
    expect(other.requests).toHaveLength(0);
  });

  it('a model that cannot be reached is requested again, and the error allows later attempts', async () => {
    const closedServer: Server = createServer();
    await new Promise<void>((resolve) => closedServer.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(closedServer.address() as AddressInfo).port}`;
    await new Promise((resolve) => closedServer.close(resolve));
    const error = await failure(requestModel(modelsAt(url), [type], modelRequest(), { retries: 2 }));
    expect(error).toMatchObject({ isFinal: false, isRateLimited: false });
    expect(error.message).toBe(
      `the model ${type}:m-1 could not be reached, or closed the connection: ECONNREFUSED (nothing listens at the base_url of its provider)`,
    );
  });
});

it("an error within a provider's stream counts as the corresponding status", async () => {
  const overloaded =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n';
  server.reply({ ...whole, inserted: { at: 3, raw: overloaded } }, whole);
  expect(
    await requestModel(modelsAt(server.url), ['anthropic'], modelRequest(), { retries: 1 }),
  ).toMatchObject({
    text: 'We are open.',
  });
  const denied = 'data: {"error":{"code":403,"message":"x","status":"PERMISSION_DENIED"}}\n\n';
  server.reply({ ...whole, inserted: { at: 1, raw: denied } });
  const error = await failure(requestModel(modelsAt(server.url), ['google'], modelRequest(), { retries: 3 }));
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
  'a permanent error of a model of %s leads to a request to its fallback (ME3)',
  async (type, status, body, reason) => {
    server.reply({ status, body: JSON.stringify(body) }, whole);
    const notices: unknown[] = [];
    const log = { ...silentLog, error: (...line: unknown[]) => notices.push(line) };
    const models = modelsAt(server.url, { log });
    const answer = await requestModel(models, [type, 'openai-compatible'], modelRequest(), { retries: 3 });
    expect(answer).toMatchObject({ text: 'We are open.', model: 'openai-compatible:m-1' });
    const fields = {
      model: `${type}:m-1`,
      next: 'openai-compatible:m-1',
      reason: `answered 400 (${reason})`,
    };
    expect(notices).toEqual([[fields, 'model fails permanently; using its fallback']]);
  },
);

it('a refused tool definition is named in the error, and no other model is requested (ME1, ME3)', async () => {
  const error = { message: `tools.1.custom.input_schema: ${secret}`, type: 'invalid_request_error' };
  const refusal = { status: 400, body: JSON.stringify({ type: 'error', error }) };
  server.reply(refusal, refusal);
  const request = modelRequest({ tools: [lookUp, { ...lookUp, name: 'save' }] });
  const failed = await failure(requestModel(modelsAt(server.url), ['anthropic', 'openai'], request));
  expect(failed.message).toBe(
    'the model anthropic:m-1 answered 400 (invalid_request_error, tools.1.custom.input_schema): it refuses the name or the inputSchema of the tool save',
  );
  expect(`${failed.stack}`).not.toContain(secret);
  expect(server.requests.map(({ model }) => model)).toEqual(['m-1', 'm-1']);
});

it('the error for a provider without its required key names the missing key', async () => {
  server.reply({ status: 401 });
  const models = modelsAt(server.url, {}, { api_key: undefined });
  expect((await failure(requestModel(models, ['openai-compatible'], modelRequest()))).message).toBe(
    'the model openai-compatible:m-1 answered 401: the request had no key; a provider with its own base_url needs its own api_key',
  );
});

it('a permanent error of a model is logged once until the model answers again', async () => {
  const notices: string[] = [];
  const log = {
    ...silentLog,
    error: (fields: object) => notices.push((fields as { reason: string }).reason),
  };
  const models = modelsAt(server.url, { log });
  const asking = () => requestModel(models, ['openai', 'anthropic'], modelRequest());
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
  expect(notices.map((what) => what.replace(/:.*/, ''))).toEqual([
    'answered 401',
    'answered 404',
    'answered 404',
  ]);
});

it('timeout_seconds of a provider limits the time without data (XC1)', async () => {
  server.reply({ ...whole, delayMs: 60_000 });
  const models = modelsAt(server.url, {}, { timeout_seconds: 0.3 });
  expect((await failure(requestModel(models, ['openai'], modelRequest()))).message).toBe(
    'the model openai:m-1 sent nothing for 300 ms (timeout_seconds of its provider)',
  );
});

it('a model with an unknown provider is an error', async () => {
  const error = await failure(requestModel(modelsAt(server.url), ['elsewhere'], modelRequest()));
  expect(error).toMatchObject({
    isFinal: true,
    message: 'the model elsewhere:m-1 has an unknown provider',
  });
});
