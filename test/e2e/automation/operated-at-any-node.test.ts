// Two gateways on one database: what one of them runs is waited for, watched and cancelled at the other.

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  eventually,
  flow,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

let site: Server;
let one: GatewayProcess;
let two: GatewayProcess;
/** Answers that are held back, for as long as whoever asks keeps to them. */
const held = new Set<ServerResponse>();
/** Whether the agent answers what is called `first`. */
let isHeld = true;
const asked: string[] = [];

beforeAll(async () => {
  site = createServer((request, response) => {
    if (request.url !== '/held') {
      response.setHeader('content-type', 'application/json').end('{"ok":true}');
      return;
    }
    held.add(response);
    response.on('close', () => held.delete(response));
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const program = await startAgent(async ({ body }) => {
    const { text } = body.event.payload as { text: string };
    asked.push(text);
    if (text === 'first') await eventually(() => expect(isHeld).toBe(false), 60_000);
    return { text: `heard: ${text}` };
  });
  const config = { path: '/hooks/desk', webhook_secret: SECRET, key: 'body:c', respond: 'sync' };
  const post = (id: string, path: string) => ({
    ...{ id, type: 'HTTP' },
    config: { method: 'POST', url: siteUrl + path },
  });
  const resources = [
    trigger('desk', { type: 'HTTP', config, default_agent: 'desk' }),
    httpAgent('desk', program.url),
    flow('steps', {
      nodes: [
        post('quick', '/quick'),
        post('slow', '/held'),
        { id: 'told', type: 'Response', config: { text: 'through' } },
      ],
      connections: [
        { from: 'quick', to: 'slow' },
        { from: 'slow', to: 'told' },
      ],
    }),
  ];
  const url = await newDatabase();
  const start = (name: string) =>
    startAutomation({ resources, settings: { store: { postgres: { url } }, node: { name } } });
  [one, two] = await Promise.all([start('one'), start('two')]);
});
afterAll(async () => {
  isHeld = false;
  await Promise.all([one.stop(), two.stop()]);
  site.closeAllConnections();
  site.close();
});

/** A run of the flow that the first gateway has begun, and that waits for the site. */
async function runAtOne(): Promise<string> {
  const body = JSON.stringify({ wait_seconds: 0 });
  const headers = { 'content-type': 'application/json' };
  const begun = await fetch(`${one.url}/flows/steps/runs`, { method: 'POST', body, headers });
  const { id } = (await begun.json()) as { id: string };
  await eventually(() => expect(held.size).toBe(1));
  return id;
}

const runPath = (gateway: GatewayProcess, id: string) => `${gateway.url}/runs/${encodeURIComponent(id)}`;

test('who waits for the answer to an event is told it though another gateway handles the event (ELS1)', async () => {
  const first = postHook(one.url, '/hooks/desk', { c: 'x', text: 'first' }, { 'idempotency-key': 'x1' });
  await eventually(() => expect(asked).toContain('first'));
  // It comes after the first one of its conversation, so where that is.
  const second = postHook(two.url, '/hooks/desk', { c: 'x', text: 'second' }, { 'idempotency-key': 'x2' });
  await new Promise((resolve) => setTimeout(resolve, 500));
  isHeld = false;
  const answers = await Promise.all([first, second]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await answers[1]?.text()).toContain('heard: second');
});

test('a run is watched at another gateway than runs it: what was journaled, and its end (ELS1)', async () => {
  const id = await runAtOne();
  const stream = await fetch(`${runPath(two, id)}/events`, { headers: { accept: 'text/event-stream' } });
  let text = '';
  const reading = (async () => {
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>)
      text += Buffer.from(chunk).toString();
  })();
  await eventually(() => expect(text).toContain('quick'));
  expect(text).not.toContain('through');
  for (const response of held) response.setHeader('content-type', 'application/json').end('{}');
  await reading;
  expect(text).toContain('event: end');
  expect(text).toContain('through');
});

test('a run is cancelled at another gateway than runs it, and its request is cut (CAN1)', async () => {
  const id = await runAtOne();
  const from = performance.now();
  const cancelled = await fetch(`${runPath(two, id)}/cancel`, { method: 'POST' });
  expect(cancelled.status).toBe(200);
  expect(performance.now() - from).toBeLessThan(2_500);
  await eventually(() => expect(held.size).toBe(0), 2_000);
  await eventually(async () => {
    const run = (await (await fetch(runPath(two, id))).json()) as { state: string };
    expect(run.state).toBe('cancelled');
  });
  expect((await fetch(`${runPath(two, id)}/cancel`, { method: 'POST' })).status).toBe(409);
});

test('a run whose gateway stands still is not said to be cancelled (CAN1)', async () => {
  const id = await runAtOne();
  process.kill(one.pid, 'SIGSTOP');
  const refused = await fetch(`${runPath(two, id)}/cancel`, { method: 'POST' });
  process.kill(one.pid, 'SIGCONT');
  // Within the time of its lease the run is its own; after that the other gateway has the event.
  expect([503, 200, 409]).toContain(refused.status);
  if (refused.status !== 200) {
    await eventually(async () => {
      const again = await fetch(`${runPath(two, id)}/cancel`, { method: 'POST' });
      expect(again.status).toBe(200);
    });
  }
  await eventually(async () => {
    const run = (await (await fetch(runPath(two, id))).json()) as { state: string };
    expect(run.state).toBe('cancelled');
  });
});
