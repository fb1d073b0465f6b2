// Agents with a URL, on real HTTP servers: requests, response formats and failures.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import { HttpAgent, type HttpAgentOptions } from '../../../../../actors/agents/handlers/http-agent.ts';
import { aContext } from '../../../../fixtures/automation/contexts.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';

const KEY = 'Bearer the-key-that-nobody-may-see';

let server: Server;
let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;
let url: string;
let requests: { headers: IncomingMessage['headers']; body: string; path: string }[];

beforeEach(async () => {
  requests = [];
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    requests.push({ headers: request.headers, body, path: request.url ?? '' });
    answer(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function agent(options: Partial<HttpAgentOptions> = {}) {
  return new HttpAgent({ url, headers: { authorization: KEY }, timeoutMs: 5_000, ...options });
}

const contextWithoutAbort = () => aContext();
const run = (options?: Partial<HttpAgentOptions>) => agent(options).run(aJob(), contextWithoutAbort());

function respondWith(
  body: string,
  type = 'application/json',
  status = 200,
  headers: Record<string, string> = {},
) {
  answer = (_, response) => response.writeHead(status, { 'content-type': type, ...headers }).end(body);
}

async function failure(running: Promise<unknown>): Promise<HandlerError> {
  const error: unknown = await running.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof HandlerError)) throw new Error(`expected a HandlerError, not ${error}`);
  expect(`${error.message} ${error.stack} ${String(error.cause)}`).not.toContain('nobody-may-see');
  expect(error.message).toContain(new URL(url).host);
  return error;
}

test('an idempotency key with characters that a header cannot contain is encoded', async () => {
  respondWith('{"text":"done"}');
  const job = aJob({ idempotencyKey: 'chat:ü/検査\r\nx: y 😀\ud800' });
  expect((await agent().run(job, contextWithoutAbort())).text).toBe('done');
  expect(requests[0]?.headers['idempotency-key']).toBe(
    'chat:%C3%BC/%E6%A4%9C%E6%9F%BB%0D%0Ax: y %F0%9F%98%80%EF%BF%BD',
  );
});

test('an HTTP agent sends a job as JSON with its idempotency key, trace and configured headers', async () => {
  respondWith('{"text":"fine"}');
  expect(await run()).toEqual({ text: 'fine' });
  const [sent] = requests;
  expect(sent?.headers).toMatchObject({
    'content-type': 'application/json',
    'idempotency-key': 'repohost:reviews/d-1',
    traceparent: aJob().trace,
    authorization: KEY,
  });
  expect(JSON.parse(sent?.body ?? '')).toMatchObject({
    input: 'please review',
    parameters: {},
    event: { name: 'pull_request.opened', payload: { action: 'opened' }, context: { 'repo.pr.number': 7 } },
    conversation: 'repohost/acme/site#7',
    history: [{ role: 'user', text: 'before' }],
  });
});

test('an HTTP agent fails without a retry if the job cannot be serialized as JSON', async () => {
  const payload: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  const job = aJob();
  const running = agent().run({ ...job, event: { ...job.event, payload } }, contextWithoutAbort());
  expect((await failure(running)).isFinal).toBe(true);
  expect(requests).toEqual([]);
});

describe("an HTTP agent's response", () => {
  test.each([
    ['JSON with the member text', '{"text":"a"}', 'application/json', { text: 'a' }],
    [
      'JSON with the member output',
      '{"output":"a","tokens":3}',
      'application/json',
      { text: 'a', data: { tokens: 3 } },
    ],
    [
      'JSON with the member answer',
      '{"answer":"a"}',
      'application/problem+json; charset=utf-8',
      { text: 'a' },
    ],
    ['a JSON string', '"a"', 'application/json', { text: 'a' }],
    ['plain text', 'grüße', 'text/plain; charset=utf-8', { text: 'grüße' }],
    ['JSON with an empty text', '{"text":""}', 'application/json', { text: '' }],
    ['an empty body', '', 'application/json', { text: '' }],
    ['JSON without a content type', '{"text":"a"}', '', { text: 'a' }],
  ])('may be %s', async (_, body, type, expected) => {
    respondWith(body, type);
    expect(await run()).toEqual(expected);
  });

  test('may have status 204', async () => {
    answer = (_, response) => response.writeHead(204).end();
    expect(await run()).toEqual({ text: '' });
  });

  test('may be an event stream split at any byte', async () => {
    const stream = Buffer.from(
      ': hi\n\ndata: Gr\n\ndata: {"text":"üß"}\r\n\r\nevent: piece\ndata: {"delta":"e"}\n\ndata: {"a":1}\n\ndata: [DONE]\n\ndata: more\n\n',
    );
    answer = async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < stream.length; at += 3) {
        response.write(stream.subarray(at, at + 3));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    expect(await run()).toEqual({ text: 'Grüße{"a":1}' });
  });

  test('is reported as progress while it streams, and its progress events are not part of the answer', async () => {
    const progressTexts: string[] = [];
    const events = [
      'event: progress\ndata: Looking',
      'data: Good ',
      'data: {"delta":"news"}',
      'data: [DONE]',
    ];
    answer = async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [i, event] of events.entries()) {
        response.write(`${event}\n\n`);
        await expect.poll(() => progressTexts.length).toBeGreaterThanOrEqual(Math.min(i + 1, 3));
      }
    };
    const reply = await agent().run(aJob(), aContext({ progress: (text) => progressTexts.push(text) }));
    expect(reply).toEqual({ text: 'Good news' });
    expect(progressTexts.slice(0, 3)).toEqual(['Looking', 'Good ', 'Good news']);
  });

  test('may be a stream that ends without [DONE]', async () => {
    respondWith('data: a\n\ndata: b\n\n', 'text/event-stream');
    expect(await run()).toEqual({ text: 'ab' });
  });

  test('may arrive late, within the deadline of the attempt', async () => {
    answer = (_, response) => setTimeout(() => response.end('{"text":"late"}'), 300);
    expect(await run()).toEqual({ text: 'late' });
  });

  test.each([
    ['not JSON', '<html>', 'text/html', 200],
    ['JSON without a text', '{"message":"a"}', 'application/json', 200],
    ['a JSON list', '[]', 'application/json', 200],
  ])('that is %s fails without a retry', async (_, body, type, status) => {
    respondWith(body, type, status);
    expect((await failure(run())).isFinal).toBe(true);
  });

  test('above the size limit fails without a retry, and is not read to its end', async () => {
    let wasCut = false;
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write('x'.repeat(1_000)), 1);
      response.on('close', () => {
        wasCut = true;
        clearInterval(timer);
      });
    };
    const error = await failure(run({ maxAnswerBytes: 5_000 }));
    expect(error.isFinal).toBe(true);
    expect(error.message).toContain('5000 bytes');
    await expect.poll(() => wasCut).toBe(true);
  });

  test.each([
    ['values', `{"text":"fine","data":[${'[],'.repeat(1_000_000)}1]}`, 'answered JSON with too many values'],
    [
      'levels',
      `{"text":"fine","data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      'answered JSON with more than 256 levels',
    ],
  ])('with too many %s is refused before it is parsed, also in a stream', async (_, body, message) => {
    const parse = vi.spyOn(JSON, 'parse');
    const isParsed = () => parse.mock.calls.some(([text]) => text.length >= body.length);
    try {
      respondWith(body);
      const error = await failure(run());
      expect(error.message).toContain(message);
      expect(error.isFinal).toBe(true);
      respondWith(`data: ${body}\n\ndata: [DONE]\n\n`, 'text/event-stream');
      expect((await run()).text).toBe(body);
      expect(isParsed()).toBe(false);
    } finally {
      parse.mockRestore();
    }
  });

  test('that breaks off can be retried', async () => {
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{"text":"half');
      setTimeout(() => response.destroy(), 20);
    };
    expect((await failure(run())).isFinal).toBe(false);
    answer = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: half\n\n');
      setTimeout(() => response.destroy(), 20);
    };
    expect((await failure(run())).isFinal).toBe(false);
  });

  test('that reports an error in its stream can be retried', async () => {
    respondWith(`data: a\n\nevent: error\ndata: ${KEY}\n\n`, 'text/event-stream');
    expect((await failure(run())).isFinal).toBe(false);
  });
});

describe('an error status of an HTTP agent', () => {
  test.each([
    [429, '7', false, 7_000],
    [503, '2', false, 2_000],
    [503, undefined, false, undefined],
    [500, undefined, false, undefined],
    [408, undefined, false, undefined],
    [409, '1', false, 1_000],
    [400, undefined, true, undefined],
    [401, undefined, true, undefined],
    [404, '9', true, 9_000],
    [429, 'tomorrow', false, undefined],
  ])(
    '%i with Retry-After %s determines whether and when the job is retried',
    async (status, pause, isFinal, retryAfterMs) => {
      respondWith(`no: ${KEY}`, 'text/plain', status, pause === undefined ? {} : { 'retry-after': pause });
      const error = await failure(run());
      const isRateLimited = status === 429 || (!isFinal && retryAfterMs !== undefined);
      expect(error).toMatchObject({ isFinal, isRateLimited, retryAfterMs });
      expect(error.message).toContain(String(status));
    },
  );

  test('with a date in Retry-After delays the retry until this date', async () => {
    respondWith('', 'text/plain', 503, { 'retry-after': new Date(Date.now() + 30_000).toUTCString() });
    const { retryAfterMs = 0 } = await failure(run());
    expect(retryAfterMs).toBeGreaterThan(25_000);
    expect(retryAfterMs).toBeLessThanOrEqual(30_000);
  });

  test.each([301, 302, 307])('%i is a redirect, which the gateway does not follow', async (status) => {
    respondWith('', 'text/plain', status, { location: `${url}/elsewhere` });
    expect((await failure(run())).isFinal).toBe(true);
    expect(requests).toHaveLength(1);
  });
});

describe('an attempt at an HTTP agent', () => {
  test('accepts a deadline with fractional seconds', async () => {
    respondWith('{"text":"fine"}');
    expect(await run({ timeoutMs: 2.01 * 1000 })).toEqual({ text: 'fine' });
  });

  test.each(['before the answer', 'within the answer'])('ends at its deadline %s', async (position) => {
    let wasCut = false;
    answer = (_, response) => {
      response.on('close', () => {
        wasCut = true;
      });
      if (position === 'within the answer') response.writeHead(200).write('{');
    };
    const error = await failure(run({ timeoutMs: 100 }));
    expect(error).toMatchObject({ isFinal: false });
    expect(error.message).toContain('within 100 ms');
    await expect.poll(() => wasCut).toBe(true);
  });

  test('can be aborted', async () => {
    const giving = new AbortController();
    answer = () => giving.abort();
    const error = await failure(agent().run(aJob(), aContext({ signal: giving.signal })));
    expect(error).toMatchObject({ isFinal: false });
    expect(error.message).toContain('was aborted');
  });

  test('sends nothing if it is aborted before it starts', async () => {
    await failure(agent().run(aJob(), aContext({ signal: AbortSignal.abort() })));
    expect(requests).toEqual([]);
  });

  test('can be retried after a refused connection', async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const error = await failure(run());
    expect(error.isFinal).toBe(false);
    expect(error.message).toContain('ECONNREFUSED');
    server.listen(0, '127.0.0.1');
  });

  test('does not fail because an idle connection was closed', async () => {
    respondWith('{"text":"a"}');
    for (let round = 0; round < 10; round += 1) {
      expect(await run()).toEqual({ text: 'a' });
      server.closeAllConnections();
    }
  });

  test('does not fail if several idle connections were closed during other requests', async () => {
    let round = 0;
    const rounds = new WeakMap<object, number>();
    answer = (request, response) => {
      // Destroys a connection that is reused in a later round.
      if ((rounds.get(request.socket) ?? round) !== round) request.socket.destroy();
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"a"}');
      rounds.set(request.socket, round);
    };
    await Promise.all([run(), run(), run()]);
    round = 1;
    expect(await run()).toEqual({ text: 'a' });
  });
});
