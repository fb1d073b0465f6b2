// Memory growth, measured by counts instead of time or bytes: after some hundred repetitions no class in the
// heap has noticeably more objects, and no more handles, files or sessions are open.

import { expect, it } from 'vitest';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
import { listenAsk, modern, modernStream, toolCall } from '../../fixtures/clients/modern-client.ts';
import { callOnce, http, RawSession, rpc, stats, until } from '../../fixtures/clients/raw-session.ts';
import {
  type GatewayProcess,
  type GatewaySetup,
  startGateway,
} from '../../fixtures/gateway/gateway-process.ts';
import { type Census, type Counts, grownSince, heapCensus } from '../../fixtures/gateway/heap-census.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';
import { fault, quick, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

const TIMES = 200;
const AT_ONCE = 16;
const TOLERANCE = TIMES / 4;
/** The log line, and the entry in the list of the server. */
const OBJECTS_OF_A_LINE = 2;

type Job = (url: string) => Promise<void>;

const servers = {
  echo: fault('echo'),
  late: fault('echo', { request_timeout_seconds: 0.05 }),
  own: quick({ isolation: 'session', pool: { max: 8 } }),
  modern: fault('eras', { era: 'modern' }),
};

/** One job per kind. A job resolves when it is complete for the client. */
const jobs: Readonly<Record<string, Job>> = {
  async 'calls without a session'(url) {
    expect((await callOnce(url, 'echo', 'echo', { a: 1 })).text).toBe('{"a":1}');
    expect((await callOnce(url, 'echo', 'big', { bytes: 20_000 })).status).toBe(200);
  },
  async 'sessions opened, used and ended'(url) {
    for (const [path, prefix] of [
      ['/mcp', 'echo__'],
      ['/mcp/echo', ''],
    ] as const) {
      const session = await RawSession.open(url, path, { sampling: {}, elicitation: {} });
      await session.request('tools/list');
      expect((await session.call(`${prefix}echo`, { b: 2 })).error).toBeUndefined();
      const counted = await session.call(`${prefix}count`, { steps: 3 }, { progressToken: 'p' });
      expect(counted.messages).toHaveLength(4);
      expect(await session.end()).toBe(204);
    }
  },
  async 'session streams opened and left'(url) {
    const session = await RawSession.open(url, '/mcp/echo');
    const stream = await session.listen();
    stream.stop();
    await stream.ended;
    expect(await session.end()).toBe(204);
  },
  async 'sessions with a process of their own'(url) {
    const session = await RawSession.open(url, '/mcp/own');
    expect([undefined, 'ERR_UNAVAILABLE']).toContain((await session.call('pid')).reason);
    await session.end();
  },
  async 'modern calls and listens'(url) {
    expect((await modern(`${url}/mcp/echo`, toolCall('echo', { c: 3 }))).error).toBeUndefined();
    expect((await modern(`${url}/mcp`, toolCall('echo__echo', { c: 3 }))).error).toBeUndefined();
    const listening = modernStream(`${url}/mcp`, listenAsk({ toolsListChanged: true }));
    await listening.opened();
    listening.drop();
  },
  async 'refusals and errors'(url) {
    expect((await callOnce(url, 'echo', 'no-such-tool')).error?.code).toBe(-32602);
    expect((await callOnce(url, 'no-such-server', 'echo')).status).toBe(404);
    expect((await rpc(url, 'echo', 'no/such/method')).error?.code).toBe(-32601);
    const headers = { 'content-type': 'application/json', 'x-mcp-server': 'echo' };
    expect((await http(`${url}/rpc`, { method: 'POST', headers, body: '{"jsonrpc"' })).status).toBe(400);
    expect((await http(`${url}/nowhere`)).status).toBe(404);
  },
  async 'calls that take too long'(url) {
    expect((await callOnce(url, 'late', 'wait', { ms: 700 })).status).toBe(504);
    expect((await callOnce(url, 'late', 'hang')).status).toBe(504);
  },
  async 'clients gone in the middle of a call'(url) {
    const leave = new AbortController();
    const headers = { 'content-type': 'application/json', 'x-mcp-server': 'echo' };
    const params = { name: 'wait', arguments: { ms: 500 } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const call = http(`${url}/rpc`, { method: 'POST', headers, body, signal: leave.signal });
    setTimeout(() => leave.abort(), 10);
    await expect(call).rejects.toThrow();
  },
};

/** Starts a gateway whose heap objects can be counted. */
async function countable(setup: GatewaySetup): Promise<[GatewayProcess, Census]> {
  const census = heapCensus();
  return [await startGateway({ ...setup, env: census.env }), census];
}

it.each(httpEngines)(
  `on %s nothing remains of ${TIMES} repetitions of: ${Object.keys(jobs).join(', ')}`,
  async (engine) => {
    const [gateway, census] = await countable({ http: engine, servers });
    const everything = async (times: number) => {
      for (const job of Object.values(jobs)) await runConcurrently(times, AT_ONCE, () => job(gateway.url));
    };
    // The first jobs create permanent objects: connections, compiled code, caches.
    await everything(AT_ONCE * 3);
    const before = await counts(gateway, census);
    await everything(TIMES);
    expect(await grownSince(before, () => counts(gateway, census), TOLERANCE)).toEqual({});
    expect(gateway.text()).not.toMatch(signsOfBugs);
    expect(await gateway.stop()).toBe(0);
  },
  300_000,
);

it('a hundred servers that were never started need no more state machine nodes in memory than one server', async () => {
  const machines = async (count: number) => {
    const entries = Array.from({ length: count }, (_, at) => [`server-${at}`, fault('echo')]);
    const [gateway, census] = await countable({ servers: Object.fromEntries(entries) });
    const growing = Object.entries(await counts(gateway, census)).filter(([what]) =>
      what.includes('StateNode'),
    );
    return growing.reduce((sum, [, nodes]) => sum + nodes, 0);
  };
  const [one, many] = await Promise.all([machines(1), machines(100)]);
  expect(one).toBeGreaterThan(10);
  expect(many).toBe(one);
});

/** Counts objects once the gateway is idle. */
async function counts(gateway: GatewayProcess, census: Census): Promise<Counts> {
  await until('quiet', async () => {
    const { requests, sessions, listens, servers: each } = await stats(gateway.url);
    const busy = Object.values(each).reduce((sum, { in_flight, waiting }) => sum + in_flight + waiting, 0);
    return requests.in_flight + sessions + listens + busy === 0;
  });
  const { 'object Object': objects = 0, ...others } = await census.count(gateway);
  return { ...others, 'object Object': objects - OBJECTS_OF_A_LINE * (await countStoredLines(gateway)) };
}

/** Stored log lines of servers. They are limited in bytes, but the limit is not reached here. */
async function countStoredLines({ url }: GatewayProcess): Promise<number> {
  const { lines } = (await (await fetch(`${url}/logs?lines=10000`)).json()) as {
    readonly lines: readonly unknown[];
  };
  return lines.length;
}
