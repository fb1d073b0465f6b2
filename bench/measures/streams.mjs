// Memory and latency with a thousand concurrent event streams.

import { deepStrictEqual, strictEqual } from 'node:assert';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { startGateway } from '../gateway.mjs';
import { modernHeaders, openSession } from '../messages.mjs';

const upstream = join(import.meta.dirname, '../upstreams/progress.mjs');
const steps = 10;
const legacyRow = 'gateway /mcp/:id';
const modernRow = 'gateway /mcp/:id, modern to legacy';

export const name = 'streams';
export const title = 'A thousand streams';
export const about = `1,000 sessions open their stream (GET) and receive nothing. Then each calls the same server. The server sends
each call the first of ${steps} progress steps immediately, which opens its response stream. When all 1,000
calls wait, it sends the other steps, round by round for all calls, and the results. The modern row makes the
same calls without sessions.

- Heap: heap of the gateway after forced collections, per stream.
- Events per second: everything that clients receive from the second step on, until the last result.
- Delivery: time from just before the server writes an event until it arrives. The client is one Node process.
- Each stream must contain the steps of its own call in order, then its own result, and nothing else.`;
export const tables = ['heap', 'events', 'delivery'];

export async function* run(bench) {
  const count = bench.isSmoke ? 50 : 1000;
  // All calls must be in flight together, so the limits are above their number.
  const entry = { command: process.execPath, args: [upstream], pool: { in_flight: 2000, waiting: 2000 } };
  const options = { servers: { progress: entry }, config: { limits: { in_flight: 4000 } }, hasProbe: true };
  for (let round = 1; round <= bench.rounds; round += 1) {
    const gateway = await startGateway(bench, options);
    const url = `${gateway.url}/mcp/progress`;
    const agent = new Agent({ keepAlive: true });
    try {
      const sample = (row, column, value, unit) => ({ round, row, column, value, unit });
      const sessions = await makeInBatches(count, () => openSession(url));
      // A first batch of calls, so that code and caches are not counted.
      await callAll(gateway, agent, url, sessions.slice(0, 20), legacyCall);
      const beforeStreams = (await gateway.memory()).heapUsed;
      const listening = await Promise.all(sessions.map((headers) => openStream(agent, url, 'GET', headers)));
      const withStreams = (await gateway.memory()).heapUsed;
      yield sample(legacyRow, 'heap per quiet stream', (withStreams - beforeStreams) / count / 1e3, 'KB');

      const clients = {
        [legacyRow]: sessions,
        [modernRow]: sessions.map(() => modernHeaders('work')),
      };
      for (const [row, callOf] of [
        [legacyRow, legacyCall],
        [modernRow, modernCall],
      ]) {
        const figures = await callAll(gateway, agent, url, clients[row], callOf);
        yield sample(row, "heap per call's stream", figures.heapPerCall / 1e3, 'KB');
        yield sample(row, 'events/s', figures.eventsPerSecond, 'events/s');
        yield sample(row, 'delivery p50', figures.p50Ms, 'ms');
        yield sample(row, 'delivery p99', figures.p99Ms, 'ms');
      }
      for (const stream of listening) {
        deepStrictEqual(stream.messages, [], 'an idle stream received messages');
        stream.close();
      }
    } finally {
      agent.destroy();
      await gateway.stop();
    }
  }
}

/**
 * Makes a call per client, all concurrently, and checks the streams. The memory of the gateway is read while
 * all calls except the last are open. `clients` are the headers of each client.
 */
async function callAll(gateway, agent, url, clients, callOf) {
  const callCount = clients.length;
  const before = (await gateway.memory()).heapUsed;
  const bodies = clients.map((_, n) => callOf(n, callCount));
  const send = (n) => openStream(agent, url, 'POST', clients[n], bodies[n]);
  const last = callCount - 1;
  const streams = await Promise.all(clients.slice(0, last).map((_, n) => send(n)));
  const heapPerCall = ((await gateway.memory()).heapUsed - before) / last;
  // With the last call the server continues (upstreams/progress.mjs).
  streams.push(await send(last));
  await Promise.all(streams.map(({ ended }) => ended));

  const delays = [];
  let firstSentAt = Number.POSITIVE_INFINITY;
  let lastReceivedAt = 0;
  for (const [n, { messages }] of streams.entries()) {
    const answer = messages.at(-1);
    const progress = messages.slice(0, -1);
    strictEqual(answer.message.id, idOf(n), 'a response belongs to another call');
    strictEqual(answer.message.result.content[0].text, tagOf(n), 'a response belongs to another call');
    lastReceivedAt = Math.max(lastReceivedAt, answer.at);
    // A step's message is the tag of its call and the send time, in nanoseconds.
    const expected = Array.from({ length: steps }, (_, at) => [tokenOf(n), at + 1, tagOf(n)]);
    const found = progress.map(({ message: { params } }) => [
      params.progressToken,
      params.progress,
      params.message.split(' ')[0],
    ]);
    deepStrictEqual(found, expected, 'a stream contains the progress of another call');
    for (const { message, at } of progress.slice(1)) {
      const sentAt = Number(message.params.message.split(' ')[1]) / 1e6;
      firstSentAt = Math.min(firstSentAt, sentAt);
      delays.push(at - sentAt);
    }
  }
  const sorted = Float64Array.from(delays).sort();
  return {
    heapPerCall,
    // Per call: all steps except the first, and the result.
    eventsPerSecond: (callCount * steps) / ((lastReceivedAt - firstSentAt) / 1e3),
    p50Ms: sorted[Math.floor(sorted.length * 0.5)],
    p99Ms: sorted[Math.floor(sorted.length * 0.99)],
  };
}

// Some ids and tokens are numbers, some are texts.
const idOf = (n) => (n % 2 === 0 ? n : `call-${n}`);
const tokenOf = (n) => (n % 3 === 0 ? n : `token-${n}`);
const tagOf = (n) => `tag-${n}`;

function legacyCall(n, together) {
  return callWith(n, together, {});
}

function modernCall(n, together) {
  return callWith(n, together, {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  });
}

function callWith(n, together, meta) {
  const params = {
    name: 'work',
    arguments: { tag: tagOf(n), steps, together },
    _meta: { progressToken: tokenOf(n), ...meta },
  };
  return JSON.stringify({ jsonrpc: '2.0', id: idOf(n), method: 'tools/call', params });
}

async function makeInBatches(count, make) {
  const results = [];
  while (results.length < count)
    results.push(...(await Promise.all(Array.from({ length: Math.min(10, count - results.length) }, make))));
  return results;
}

/** Opens an event stream; resolves when the response headers have arrived. */
async function openStream(agent, url, method, headers, body) {
  const bodyHeaders =
    body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  const Accept = method === 'GET' ? 'text/event-stream' : headers.Accept;
  const sent = request(url, { method, agent, headers: { ...headers, ...bodyHeaders, Accept } });
  sent.end(body);
  const [answer] = await once(sent, 'response');
  const type = answer.headers['content-type'];
  if (answer.statusCode !== 200 || type !== 'text/event-stream')
    throw new Error(
      `expected an event stream, received ${answer.statusCode} ${type}: ${(await answer.setEncoding('utf8').toArray()).join('')}`,
    );
  const messages = [];
  let text = '';
  answer.setEncoding('utf8').on('data', (chunk) => {
    // process.hrtime uses the same clock in all processes on a machine.
    const at = Number(process.hrtime.bigint()) / 1e6;
    const events = (text + chunk).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) messages.push({ at, message: JSON.parse(data.slice('data: '.length)) });
    }
  });
  const ended = once(answer, 'close');
  ended.catch(() => {});
  return { messages, ended, close: () => sent.destroy() };
}
