// Flows and fleets in the built program: large flows, waits, failures, retries, changed files, and members
// that fail, are slow or return wrong values.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  eventually,
  fleet,
  flow,
  httpAgent,
  startAutomation,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

let gateway: GatewayProcess;
let site: Server;
/** Held responses, while the client stays connected. */
const responses = new Map<string, ServerResponse>();
/** Keys of all requests, by path. */
const keys = new Map<string, string[]>();
let isDoorOpen = true;

const SLEEPERS = 1_000;
const NODES = 100;
const MEMBERS = Array.from({ length: 16 }, (_, n) => `m${String(n + 1).padStart(2, '0')}`);
/**
 * One member fails, one answers in text only, another returns a wrong type, two vote against, and the last
 * never answers.
 */
const memberAnswers: Readonly<Record<string, unknown>> = {
  m01: { status: 400 },
  m02: { text: 'ship, of course' },
  m03: { text: 'ship', verdict: ['ship'] },
  m04: { text: 'no', verdict: 'wait' },
  m05: { text: 'no', verdict: 'wait' },
  m16: 'never',
};
const SHIP = { text: 'yes', verdict: 'ship' };

const siteUrl = () => `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
const jury = (min_votes: number) => ({
  agents: MEMBERS.map((name) => ({ name })),
  concurrency: 16,
  on_failure: 'skip',
  coordination: { mode: 'peer', consensus: { field: 'verdict', min_votes } },
});
const post = (id: string, path: string) => ({
  id,
  type: 'HTTP',
  config: { method: 'POST', url: siteUrl() + path },
});

const resources = (word: string) => [
  ...MEMBERS.map((name) => httpAgent(name, `${siteUrl()}/agents/${name}`)),
  ...['h1', 'h2', 'h3'].map((name) => httpAgent(name, `${siteUrl()}/held/${name}`)),
  fleet('jury', jury(9)),
  fleet('strict', jury(15)),
  flow('long', {
    nodes: Array.from({ length: NODES }, (_, n) => {
      const before = `steps.n${n - 1}.output.n`;
      if (n === NODES - 1) return { id: `n${n}`, type: 'End', config: { output: `{{ ${before} + 1 }}` } };
      return { id: `n${n}`, type: 'Transform', config: { set: { n: n === 0 ? 1 : `{{ ${before} + 1 }}` } } };
    }),
    connections: Array.from({ length: NODES - 1 }, (_, n) => ({ from: `n${n}`, to: `n${n + 1}` })),
  }),
  flow('sleeper', {
    parameters: [{ name: 'until', required: true }],
    nodes: [
      { id: 'nap', type: 'Wait', config: { until: '{{ parameters.until }}' } },
      { id: 'told', type: 'Response', config: { text: word } },
    ],
    connections: [{ from: 'nap', to: 'told' }],
  }),
  flow('shaky', {
    nodes: [
      post('first', '/first'),
      post('door', '/door'),
      { id: 'told', type: 'Response', config: { text: 'in' } },
    ],
    connections: [
      { from: 'first', to: 'door' },
      { from: 'door', to: 'told' },
    ],
  }),
  flow('holding', {
    nodes: [
      {
        id: 'all',
        type: 'Fleet',
        config: {
          spec: {
            agents: ['h1', 'h2', 'h3'].map((name) => ({ name })),
            coordination: { mode: 'peer', aggregation: 'merge' },
          },
        },
      },
      { id: 'alone', type: 'Agent', config: { agent: 'h1' } },
      { ...post('site', '/held/site'), description: 'Parallel request' },
      { id: 'end', type: 'Join' },
    ],
    connections: ['all', 'alone', 'site'].map((from) => ({ from, to: 'end' })),
  }),
];

beforeAll(async () => {
  site = createServer((request, response) => {
    const path = request.url ?? '';
    keys.set(path, [...(keys.get(path) ?? []), String(request.headers['idempotency-key'])]);
    request.resume();
    const answer = memberAnswers[path.replace('/agents/', '')] ?? SHIP;
    if (path.startsWith('/held/') || answer === 'never') {
      const key = String(request.headers['idempotency-key']);
      responses.set(key, response);
      response.on('close', () => responses.delete(key));
      return;
    }
    const status = path === '/door' && !isDoorOpen ? 404 : ((answer as { status?: number }).status ?? 200);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  gateway = await startAutomation({ resources: resources('first') });
});

afterAll(async () => {
  await gateway.stop();
  site.close().closeAllConnections();
});

const send = async (path: string, body: object = {}) =>
  (
    await ask(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  ).json;

const idOf = async (path: string, body: object = {}): Promise<string> => (await send(path, body)).id;
const runOf = async (id: string) => (await ask(`${gateway.url}/runs/${encodeURIComponent(id)}`)).json;
const expectRunState = (id: string, state: string) =>
  eventually(async () => {
    const run = await runOf(id);
    expect([run.state, run.note]).toEqual([state, state === 'done' ? null : run.note]);
    return run;
  });
const stateCount = async (state: 'waiting' | 'running'): Promise<number> =>
  (await ask(`${gateway.url}/stats`)).json.deliveries[state];
const inMs = (ms: number) => ({ until: new Date(Date.now() + ms).toISOString() });

test('a flow of 100 nodes completes', async () => {
  const run = await expectRunState(await idOf('/flows/long/runs'), 'done');
  expect(run).toMatchObject({ answer: String(NODES), data: NODES, attempts: 1 });
});

test('a fleet of sixteen agents, some failing, slow or wrong, reaches the expected verdict, and later answers are dropped', async () => {
  const run = await expectRunState(await idOf('/fleets/jury/runs', { input: 'Shall we?' }), 'done');
  // Ten of sixteen vote to ship. Nine are a majority without the silent member.
  expect(run).toMatchObject({ answer: 'ship', data: { verdict: 'ship' } });
  const votes = run.data.votes as Readonly<Record<string, unknown>>;
  expect(Object.values(votes).filter((vote) => vote === 'ship')).toHaveLength(9);
  for (const name of ['m01', 'm02', 'm16']) expect(votes).not.toHaveProperty(name);
  for (const [name, vote] of Object.entries(votes))
    expect([name, vote]).toEqual([name, ((memberAnswers[name] ?? SHIP) as typeof SHIP).verdict]);
  expect(run.members.find((member: { name: string }) => member.name === 'm16')).toMatchObject({
    state: 'dropped',
  });
  await eventually(() => expect(responses.size).toBe(0));
  for (const name of MEMBERS) expect([name, keys.get(`/agents/${name}`)?.length]).toEqual([name, 1]);
});

test('a fleet run with too few votes fails without a verdict, and its note contains all votes', async () => {
  const run = await expectRunState(await idOf('/fleets/strict/runs', { input: 'Shall we?' }), 'failed');
  expect(run.note).toContain('no consensus on verdict: 14 of 16 can vote, and 15 are required');
  expect(run.note).toMatch(/m01: no vote, .*400.*; m02: no vote, the answer has no verdict; m03: /);
  await eventually(() => expect(responses.size).toBe(0));
});

test('a retried flow continues at the failed node with the same idempotency key, and repeats no completed node', async () => {
  isDoorOpen = false;
  const id = await idOf('/flows/shaky/runs');
  expect((await expectRunState(id, 'failed')).note).toMatch(/^flow shaky: door: .* answered 404$/);
  isDoorOpen = true;
  await send(`/runs/${encodeURIComponent(id)}/retry`);
  expect(await expectRunState(id, 'done')).toMatchObject({ answer: 'in' });
  expect(keys.get('/first')).toHaveLength(1);
  expect(keys.get('/door')).toHaveLength(2);
  expect(new Set(keys.get('/door')).size).toBe(1);
});

test('a cancelled flow cancels all its current requests', async () => {
  const id = await idOf('/flows/holding/runs', { input: 'hold' });
  await eventually(() => expect(responses.size).toBe(5));
  await send(`/runs/${encodeURIComponent(id)}/cancel`);
  await eventually(() => expect(responses.size).toBe(0));
  expect(await runOf(id)).toMatchObject({ state: 'cancelled' });
});

test('a running flow keeps its definition across a reload and a restart', async () => {
  const until = inMs(2_500);
  const id = await idOf('/flows/sleeper/runs', { parameters: until });
  await expectRunState(id, 'waiting');
  writeResources(gateway.folder, resources('second'));
  await send('/admin/reload');
  const { folder } = gateway;
  await gateway.stop('SIGKILL');
  gateway = await startAutomation({ folder });
  const after = await idOf('/flows/sleeper/runs', { parameters: until });
  expect(await expectRunState(after, 'done')).toMatchObject({ answer: 'second' });
  expect(await expectRunState(id, 'done')).toMatchObject({ answer: 'first' });
});

test('a thousand waiting flows delay nothing, use little memory, and continue in time', async () => {
  const residentMb = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) / 1024;
  const begin = async (count: number, until: object) => {
    for (let from = 0; from < count; from += 50)
      await Promise.all(Array.from({ length: 50 }, () => send('/flows/sleeper/runs', { parameters: until })));
  };
  // Allowed start time, derived from a few flows.
  await begin(50, inMs(0));
  const started = performance.now();
  await begin(50, inMs(0));
  const before = residentMb();
  const until = inMs(1_500 + (performance.now() - started) * (SLEEPERS / 50) * 2);
  await begin(SLEEPERS, until);
  const waiting = () => stateCount('waiting');
  await eventually(async () => expect(await waiting()).toBe(SLEEPERS));
  const waitingMb = residentMb();
  expect(await stateCount('running')).toBe(0);
  expect(await send('/flows/long/runs', { wait_seconds: 10 })).toMatchObject({ answer: String(NODES) });
  await new Promise((resolve) => setTimeout(resolve, Date.parse(until.until) - Date.now()));
  await eventually(async () => expect(await waiting()).toBe(0), 60_000);
  await eventually(async () => expect(await stateCount('running')).toBe(0), 60_000);
  expect(waitingMb - before).toBeLessThan(150);
});
