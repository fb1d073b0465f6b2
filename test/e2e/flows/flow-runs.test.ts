// Flows and fleets in the program as it is shipped: large ones, those that wait, fail and are retried, files that change meanwhile, members
// that fail, dawdle and lie.

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
/** Requests that are not answered, for as long as whoever asks keeps to them. */
const held = new Map<string, ServerResponse>();
/** Of all requests, by their paths. */
const keys = new Map<string, string[]>();
let isDoorOpen = true;

const SLEEPERS = 1_000;
const NODES = 100;
const MEMBERS = Array.from({ length: 16 }, (_, n) => `m${String(n + 1).padStart(2, '0')}`);
/** One fails, one says it in words only, one gives another type; two are against it; one never answers. */
const given: Readonly<Record<string, unknown>> = {
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
      { ...post('site', '/held/site'), description: 'Beside the others' },
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
    const answer = given[path.replace('/agents/', '')] ?? SHIP;
    if (path.startsWith('/held/') || answer === 'never') {
      const key = String(request.headers['idempotency-key']);
      held.set(key, response);
      response.on('close', () => held.delete(key));
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
const runIs = (id: string, state: string) =>
  eventually(async () => {
    const run = await runOf(id);
    expect([run.state, run.note]).toEqual([state, state === 'done' ? null : run.note]);
    return run;
  });
const stateCount = async (state: 'waiting' | 'running'): Promise<number> =>
  (await ask(`${gateway.url}/stats`)).json.deliveries[state];
const inMs = (ms: number) => ({ until: new Date(Date.now() + ms).toISOString() });

test('a flow of 100 nodes comes to its end', async () => {
  const run = await runIs(await idOf('/flows/long/runs'), 'done');
  expect(run).toMatchObject({ answer: String(NODES), data: NODES, attempts: 1 });
});

test('sixteen members, of whom some fail, dawdle and lie, come to what plain arithmetic gives, and the rest is dropped', async () => {
  const run = await runIs(await idOf('/fleets/jury/runs', { input: 'Shall we?' }), 'done');
  // Ten of sixteen would ship, and nine of them are more than half, whatever the one says that never answers.
  expect(run).toMatchObject({ answer: 'ship', data: { verdict: 'ship' } });
  const votes = run.data.votes as Readonly<Record<string, unknown>>;
  expect(Object.values(votes).filter((vote) => vote === 'ship')).toHaveLength(9);
  for (const name of ['m01', 'm02', 'm16']) expect(votes).not.toHaveProperty(name);
  for (const [name, vote] of Object.entries(votes))
    expect([name, vote]).toEqual([name, ((given[name] ?? SHIP) as typeof SHIP).verdict]);
  expect(run.members.find((member: { name: string }) => member.name === 'm16')).toMatchObject({
    state: 'dropped',
  });
  await eventually(() => expect(held.size).toBe(0));
  for (const name of MEMBERS) expect([name, keys.get(`/agents/${name}`)?.length]).toEqual([name, 1]);
});

test('too few votes are no verdict, and the note has every one of them', async () => {
  const run = await runIs(await idOf('/fleets/strict/runs', { input: 'Shall we?' }), 'failed');
  expect(run.note).toContain('no consensus on verdict: 14 of 16 could vote, and 15 have to');
  expect(run.note).toMatch(/m01: no vote, .*400.*; m02: no vote, its answer has no verdict; m03: /);
  await eventually(() => expect(held.size).toBe(0));
});

test('a flow that has failed goes on at the node that failed, under its key, and does nothing again that has ended well', async () => {
  isDoorOpen = false;
  const id = await idOf('/flows/shaky/runs');
  expect((await runIs(id, 'failed')).note).toMatch(/^flow shaky: door: .* answered 404$/);
  isDoorOpen = true;
  await send(`/runs/${encodeURIComponent(id)}/retry`);
  expect(await runIs(id, 'done')).toMatchObject({ answer: 'in' });
  expect(keys.get('/first')).toHaveLength(1);
  expect(keys.get('/door')).toHaveLength(2);
  expect(new Set(keys.get('/door')).size).toBe(1);
});

test('cancelled, it lets go of everybody who is at work for it', async () => {
  const id = await idOf('/flows/holding/runs', { input: 'hold' });
  await eventually(() => expect(held.size).toBe(5));
  await send(`/runs/${encodeURIComponent(id)}/cancel`);
  await eventually(() => expect(held.size).toBe(0));
  expect(await runOf(id)).toMatchObject({ state: 'cancelled' });
});

test('a flow that is at work keeps the definition that it began with, over a reload and a restart', async () => {
  const until = inMs(2_500);
  const id = await idOf('/flows/sleeper/runs', { parameters: until });
  await runIs(id, 'waiting');
  writeResources(gateway.folder, resources('second'));
  await send('/admin/reload');
  const { folder } = gateway;
  await gateway.stop('SIGKILL');
  gateway = await startAutomation({ folder });
  const after = await idOf('/flows/sleeper/runs', { parameters: until });
  expect(await runIs(after, 'done')).toMatchObject({ answer: 'second' });
  expect(await runIs(id, 'done')).toMatchObject({ answer: 'first' });
});

test('a thousand flows that wait hold nothing up and hardly any memory, and all go on when their time has come', async () => {
  const residentMb = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1]) / 1024;
  const begin = async (count: number, until: object) => {
    for (let from = 0; from < count; from += 50)
      await Promise.all(Array.from({ length: 50 }, () => send('/flows/sleeper/runs', { parameters: until })));
  };
  // How long they may take to begin, by how long a few do.
  await begin(50, inMs(0));
  const started = performance.now();
  await begin(50, inMs(0));
  const before = residentMb();
  const until = inMs(1_500 + (performance.now() - started) * (SLEEPERS / 50) * 2);
  await begin(SLEEPERS, until);
  const waiting = () => stateCount('waiting');
  await eventually(async () => expect(await waiting()).toBe(SLEEPERS));
  const parked = residentMb();
  expect(await stateCount('running')).toBe(0);
  expect(await send('/flows/long/runs', { wait_seconds: 10 })).toMatchObject({ answer: String(NODES) });
  await new Promise((resolve) => setTimeout(resolve, Date.parse(until.until) - Date.now()));
  await eventually(async () => expect(await waiting()).toBe(0), 60_000);
  await eventually(async () => expect(await stateCount('running')).toBe(0), 60_000);
  expect(parked - before).toBeLessThan(150);
});
