// Parked events: an agent defers an event until later. Such events are visible, do not block the
// conversation, and survive a kill of the process.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  agent,
  eventually,
  postHook,
  SECRET,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

/** Longer than a gateway start on a busy machine. */
const WAIT_MS = 8_000;
const HOUR_MS = 3_600_000;
const script = `
- { match: { text: remind }, answer: It is time., wait_ms: ${WAIT_MS} }
- { match: { text: never }, answer: No., wait_ms: ${HOUR_MS} }
- { answer: 'Heard: {{input}}' }
`;

test('an event that waits for a later time is listed, blocks no other event, survives kill -9, and can be discarded', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'desk.script'), script);
  const resources = [
    trigger('desk', {
      type: 'HTTP',
      config: { path: '/hooks/desk', webhook_secret: SECRET, key: 'body:c' },
      default_agent: 'desk',
    }),
    agent('desk', { model: `scripted:${join(folder, 'desk.script')}` }),
  ];
  let gateway = await startAutomation({ folder, resources });
  const say = (text: string, id: string) =>
    postHook(gateway.url, '/hooks/desk', { c: 'one', text }, { 'idempotency-key': id });
  const path = (id: string) => `${gateway.url}/deliveries/${encodeURIComponent(`http:desk/${id}`)}`;
  const record = async (id: string) => (await (await fetch(path(id))).json()) as Record<string, unknown>;

  const saidAt = Date.now();
  await say('remind me', 'r1');
  await say('never', 'n1');
  await say('hello', 't1');
  await eventually(async () =>
    expect(await record('t1')).toMatchObject({ state: 'done', answer: 'Heard: hello' }),
  );
  const waiting = await record('r1');
  expect(waiting).toMatchObject({ state: 'waiting', kind: 'inbound', attempts: 0, next_attempt_at: null });
  expect(waiting.waiting_for).toEqual(expect.stringContaining('http:desk/r1'));
  expect(Date.parse(String(waiting.until))).toBeGreaterThanOrEqual(saidAt + WAIT_MS);
  const listed = (await (await fetch(`${gateway.url}/deliveries?state=waiting`)).json()) as {
    deliveries: unknown[];
  };
  expect(listed.deliveries).toHaveLength(2);
  const stats = (await (await fetch(`${gateway.url}/stats`)).json()) as { deliveries: unknown };
  expect(stats.deliveries).toMatchObject({ waiting: 2, queued: 0, running: 0 });

  await gateway.stop('SIGKILL');
  gateway = await startAutomation({ folder });
  expect((await record('r1')).until).toBe(waiting.until);
  await eventually(async () =>
    expect(await record('r1')).toMatchObject({ state: 'done', answer: 'It is time.' }),
  );
  expect(Date.now()).toBeGreaterThanOrEqual(saidAt + WAIT_MS);
  expect(await record('r1')).toMatchObject({ attempts: 1, crashes: 0, waiting_for: null, until: null });

  await fetch(`${path('n1')}/replay`, { method: 'POST' });
  await eventually(async () => expect(await record('n1')).toMatchObject({ state: 'waiting' }));
  expect((await fetch(`${path('n1')}/discard`, { method: 'POST' })).status).toBe(200);
  expect(await record('n1')).toMatchObject({ state: 'ignored', waiting_for: null });
});

test('HTTP and command line clients that await an answer are told at once if the agent run waits for a later time', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'desk.script'), script);
  const model = { model: `scripted:${join(folder, 'desk.script')}` };
  const sync = { respond: 'sync', respond_timeout_seconds: 300 };
  const resources = [
    trigger('ask', {
      type: 'HTTP',
      config: { path: '/hooks/ask', webhook_secret: SECRET, key: 'body:c', ...sync },
      default_agent: 'desk',
    }),
    trigger('notes', { type: 'Manual', config: {}, default_agent: 'desk' }),
    agent('desk', model),
  ];
  const { url } = await startAutomation({ folder, resources });
  const askedAt = Date.now();
  const answer = await postHook(url, '/hooks/ask', { c: 'one', text: 'never' }, { 'idempotency-key': 'n1' });
  const status = (await answer.json()) as { until: string };
  expect([answer.status, status]).toEqual([
    202,
    {
      id: 'http:ask/n1',
      status: 'waiting',
      until: expect.any(String),
      waiting_for: expect.stringContaining('http:ask/n1'),
    },
  ]);
  expect(Date.parse(status.until)).toBeGreaterThanOrEqual(askedAt + HOUR_MS);

  const run = await fetch(`${url}/triggers/notes/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'never', wait_seconds: 300 }),
  });
  expect(await run.json()).toMatchObject({
    state: 'waiting',
    answer: null,
    waiting_for: expect.stringContaining('manual:'),
    until: expect.any(String),
  });
  const command = await runMain(['triggers', 'run', 'notes', '--text', 'never', '--url', url]);
  expect([command.code, command.stdout]).toEqual([
    0,
    expect.stringMatching(/^manual:\S+ waits for \S.*manual:\S+, until \S+Z; "deliveries show manual:/),
  ]);
  const listed = await runMain(['deliveries', '--state', 'waiting', '--url', url]);
  expect(listed.stdout.match(/ waits for .*, until \S+Z$/gm)).toHaveLength(3);
  const top = await runMain(['top', '--once', '--url', url]);
  expect(top.stdout).toMatch(/deliveries: 3 waiting/);
  expect(top.stdout).toMatch(/^ *http:ask\/n1 waits for .*http:ask\/n1, until \S+Z$/m);
});
