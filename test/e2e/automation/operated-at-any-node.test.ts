// Two gateways on the same database: a run of one gateway can be awaited, watched and cancelled at the other.

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
let firstGateway: GatewayProcess;
let secondGateway: GatewayProcess;
/** Held responses, while the client stays connected. */
const responses = new Set<ServerResponse>();
/** True if the answer to `first` is held. */
let isHeld = true;
const requests: string[] = [];

beforeAll(async () => {
  site = createServer((request, response) => {
    if (request.url !== '/held') {
      response.setHeader('content-type', 'application/json').end('{"ok":true}');
      return;
    }
    responses.add(response);
    response.on('close', () => responses.delete(response));
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const siteUrl = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const program = await startAgent(async ({ body }) => {
    const { text } = body.event.payload as { text: string };
    requests.push(text);
    if (text === 'first') await eventually(() => expect(isHeld).toBe(false), 60_000);
    return { text: `heard: ${text}` };
  });
  const config = { path: '/hooks/desk', webhook_secret: SECRET, key: 'body:c', respond: 'sync' };
  const post = (id: string, path: string) => ({
    id,
    type: 'HTTP',
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
  [firstGateway, secondGateway] = await Promise.all([start('one'), start('two')]);
});
afterAll(async () => {
  isHeld = false;
  await Promise.all([firstGateway.stop(), secondGateway.stop()]);
  site.closeAllConnections();
  site.close();
});

/** Starts a flow run at the first gateway. The site holds the response that the run needs. */
async function startRunAtFirst(): Promise<string> {
  const body = JSON.stringify({ wait_seconds: 0 });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${firstGateway.url}/flows/steps/runs`, { method: 'POST', body, headers });
  const { id } = (await response.json()) as { id: string };
  await eventually(() => expect(responses.size).toBe(1));
  return id;
}

const runPath = (gateway: GatewayProcess, id: string) => `${gateway.url}/runs/${encodeURIComponent(id)}`;

test('a waiting client receives the answer to an event handled by another gateway', async () => {
  const first = postHook(
    firstGateway.url,
    '/hooks/desk',
    { c: 'x', text: 'first' },
    { 'idempotency-key': 'x1' },
  );
  await eventually(() => expect(requests).toContain('first'));
  // Both events belong to one conversation, so the same gateway handles them.
  const second = postHook(
    secondGateway.url,
    '/hooks/desk',
    { c: 'x', text: 'second' },
    { 'idempotency-key': 'x2' },
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  isHeld = false;
  const answers = await Promise.all([first, second]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(await answers[1]?.text()).toContain('heard: second');
});

test('the journal and the completion of a run can be watched at another gateway', async () => {
  const id = await startRunAtFirst();
  const stream = await fetch(`${runPath(secondGateway, id)}/events`, {
    headers: { accept: 'text/event-stream' },
  });
  let text = '';
  const reading = (async () => {
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>)
      text += Buffer.from(chunk).toString();
  })();
  await eventually(() => expect(text).toContain('quick'));
  expect(text).not.toContain('through');
  for (const response of responses) response.setHeader('content-type', 'application/json').end('{}');
  await reading;
  expect(text).toContain('event: end');
  expect(text).toContain('through');
});

test('a run can be cancelled at another gateway, and its current request is aborted', async () => {
  const id = await startRunAtFirst();
  const from = performance.now();
  const cancelled = await fetch(`${runPath(secondGateway, id)}/cancel`, { method: 'POST' });
  expect(cancelled.status).toBe(200);
  expect(performance.now() - from).toBeLessThan(2_500);
  await eventually(() => expect(responses.size).toBe(0), 2_000);
  await eventually(async () => {
    const run = (await (await fetch(runPath(secondGateway, id))).json()) as { state: string };
    expect(run.state).toBe('cancelled');
  });
  expect((await fetch(`${runPath(secondGateway, id)}/cancel`, { method: 'POST' })).status).toBe(409);
});

test('a run on a suspended gateway is not reported as cancelled at another gateway', async () => {
  const id = await startRunAtFirst();
  process.kill(firstGateway.pid, 'SIGSTOP');
  const refusal = await fetch(`${runPath(secondGateway, id)}/cancel`, { method: 'POST' });
  process.kill(firstGateway.pid, 'SIGCONT');
  // During the lease the run belongs to the suspended gateway. Afterwards the other gateway owns the event.
  expect([503, 200, 409]).toContain(refusal.status);
  if (refusal.status !== 200) {
    await eventually(async () => {
      const secondResponse = await fetch(`${runPath(secondGateway, id)}/cancel`, { method: 'POST' });
      expect(secondResponse.status).toBe(200);
    });
  }
  await eventually(async () => {
    const run = (await (await fetch(runPath(secondGateway, id))).json()) as { state: string };
    expect(run.state).toBe('cancelled');
  });
});
