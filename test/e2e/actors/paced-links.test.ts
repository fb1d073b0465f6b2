// A server that writes without pause is read in small portions per turn of the event loop, so that other work
// is not delayed.

import { afterEach, expect, test } from 'vitest';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import type { LinkEvents } from '../../../actors/mcp/links/link.ts';
import { StdioLink } from '../../../actors/mcp/links/stdio/stdio-link.ts';
import { fixtures } from '../../fixtures/children/recorded-link.ts';
import { endServers, serve } from '../../fixtures/remote/bad-servers.ts';
import { initialize, request, until } from '../../fixtures/remote/link-recorder.ts';
import { answerJson, beginStream, event, methodOf, result } from '../../fixtures/remote/local-server.ts';
import { httpLink, INITIALIZE, sseLink } from '../../fixtures/remote/open-link.ts';

/** Simulated cost per line, in milliseconds: the worst case is a log message for many clients. */
const WORK_MS = 0.2;
const LINES = 2000;

/** Counts the lines handled per event loop iteration; each line costs WORK_MS. */
class LineCounter {
  total = 0;
  most = 0;
  #now = 0;
  #isOver = false;

  constructor() {
    const next = () => {
      this.#now = 0;
      if (!this.#isOver) setImmediate(next);
    };
    next();
  }

  handleLine(): void {
    const until = performance.now() + WORK_MS;
    while (performance.now() < until);
    this.total += 1;
    this.#now += 1;
    this.most = Math.max(this.most, this.#now);
  }

  stop(): void {
    this.#isOver = true;
  }
}

const handlers: LineCounter[] = [];

afterEach(async () => {
  for (const handler of handlers.splice(0)) handler.stop();
  await endServers();
});

function counted(): LineCounter {
  const handler = new LineCounter();
  handlers.push(handler);
  return handler;
}

const nothing = () => {};
const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } };

test('stdout of a local server that writes without pause is read in small portions per turn of the event loop', async () => {
  const counts = counted();
  const events: LinkEvents = {
    onMessage: () => counts.handleLine(),
    onOversized: nothing,
    onUndelivered: nothing,
    onEnd: nothing,
  };
  const link = new StdioLink(
    {
      command: process.execPath,
      args: [`${fixtures}/floods-stdout.mjs`, 'stdout', JSON.stringify(note)],
      env: {},
      cwd: fixtures,
      maxMessageBytes: 1024 * 1024,
      redactor: new Redactor([]),
    },
    events,
  );
  await link.open();
  await until('the flood', () => counts.total > LINES);
  // Without yielding, one turn would handle all lines of the pipe: several hundred.
  expect(counts.most).toBeLessThan(50);
  link.kill();
  await link.close();
});

test.each([
  ['SSE stream of a session', httpLink],
  ['legacy SSE transport', sseLink],
] as const)('a flooding remote server is read in portions on %s', async (_, make) => {
  const flood = event(note).repeat(LINES);
  const server = await serve(({ req, res, body }) => {
    if (req.method !== 'GET') {
      if (!body.includes('"id"')) return void res.writeHead(202).end();
      if (methodOf(body) === 'initialize') return answerJson(res, result(body));
      return void res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(flood + event(result(body)));
    }
    beginStream(res);
    // A single write, so that one read contains many events.
    res.write('event: endpoint\ndata: /mcp\n\n');
    res.write(flood);
  });
  const counts = counted();
  const { link, recorder } = make(server.url());
  const onMessage = recorder.onMessage.bind(recorder);
  recorder.onMessage = (bytes, call) => {
    counts.handleLine();
    onMessage(bytes, call);
  };
  await link.open();
  if (make === httpLink) {
    link.send(initialize(INITIALIZE), INITIALIZE);
    await recorder.answer(INITIALIZE);
    link.send(request(2, 'tools/call'), 2);
    await recorder.answer(2);
    // The response follows the whole flood.
    expect(counts.total).toBe(LINES + 2);
    link.ready('2025-11-25');
    await until('flood of the second stream', () => counts.total === 2 * LINES + 2);
  }
  await until('the flood', () => counts.total >= LINES);
  expect(counts.most).toBeLessThan(50);
  link.kill();
});

test('all streams of a remote server together share the limit of messages handled per turn of the event loop', async () => {
  const STREAMS = 30;
  const flood = event(note).repeat(LINES);
  const server = await serve(({ req, res, body }) => {
    if (req.method !== 'POST') return void res.writeHead(405).end();
    if (!body.includes('"id"')) return void res.writeHead(202).end();
    if (methodOf(body) === 'initialize') return answerJson(res, result(body));
    beginStream(res);
    res.write(flood);
  });
  const counts = counted();
  const { link, recorder } = httpLink(server.url());
  await link.open();
  link.send(initialize(INITIALIZE), INITIALIZE);
  await recorder.answer(INITIALIZE);
  recorder.onMessage = () => counts.handleLine();
  for (let call = 2; call < 2 + STREAMS; call += 1) link.send(request(call, 'tools/call'), call);
  await until('the beginning', () => counts.total > 20 * STREAMS);
  counts.most = 0;
  await until('the flood', () => counts.total > 200 * STREAMS);
  // A few lines per stream. With a separate limit per stream it would be about fifteen.
  expect(counts.most).toBeLessThan(4 * STREAMS);
  link.kill();
});
