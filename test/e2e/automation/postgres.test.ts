// A gateway with a real PostgreSQL store: accepted events survive kill -9 of gateway and database, and tools
// work without the database.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Stats } from '../../../src/http/api/stats-shapes.ts';
import {
  agent,
  eventually,
  postHook,
  SECRET,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { withoutStalls } from '../../fixtures/gateway/alarms.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { executeOn, startPostgres } from '../../fixtures/store/postgres-server.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

const server = await sharedPostgres();

const script = `
- { match: { text: slow }, answer: Slowly., delay_ms: 1500 }
- { answer: 'Heard: {{input}}' }
`;

const resourcesIn = (folder: string) => {
  writeFileSync(join(folder, 'desk.script'), script);
  return [
    trigger('desk', {
      type: 'HTTP',
      config: { path: '/hooks/desk', webhook_secret: SECRET, key: 'body:c' },
      default_agent: 'desk',
    }),
    agent('desk', { model: `scripted:${join(folder, 'desk.script')}` }),
  ];
};

test('acknowledged events survive kill -9 of gateway and database, and webhooks get 503 while the database is unavailable', async () => {
  const folder = temporaryFolder();
  const resources = resourcesIn(folder);
  const url = await server.newDatabase();
  const settings = { store: { postgres: { url } }, node: { name: 'one' } };
  let gateway = await startAutomation({ folder, resources, settings });
  const say = (text: string, id: string) =>
    postHook(gateway.url, '/hooks/desk', { c: id, text }, { 'idempotency-key': id });
  const record = async (id: string) =>
    (await (
      await fetch(`${gateway.url}/deliveries/${encodeURIComponent(`http:desk/${id}`)}`)
    ).json()) as Record<string, unknown>;
  const expectAnswer = (id: string, answer: string) =>
    eventually(async () => expect(await record(id)).toMatchObject({ state: 'done', answer }));

  expect((await say('hello', 'a')).status).toBe(202);
  await expectAnswer('a', 'Heard: hello');
  expect((await say('slow one', 'b')).status).toBe(202);
  await gateway.stop('SIGKILL');

  gateway = await startAutomation({ folder, resources, settings });
  await expectAnswer('b', 'Slowly.');
  expect(await record('a')).toMatchObject({ state: 'done', answer: 'Heard: hello' });

  await server.kill();
  const refusal = await say('meanwhile', 'c');
  expect(refusal.status).toBe(503);
  expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${gateway.url}/servers`)).status).toBe(200);
  const stats = async () => {
    const json = (await (await fetch(`${gateway.url}/stats`)).json()) as Stats;
    return { ...json, alarms: withoutStalls(json.alarms) };
  };
  expect(await stats()).toMatchObject({
    alarms: [
      { code: 'database_unavailable', severity: 'error', message: expect.stringMatching(/^the database /) },
    ],
    triggers: { desk: { state: 'open', blocked_by: 'database_unavailable' } },
  });
  await server.start();
  await eventually(async () => expect((await say('meanwhile', 'c')).status).toBe(202));
  await expectAnswer('c', 'Heard: meanwhile');
  await eventually(async () => expect((await stats()).alarms).toEqual([]), 20_000);

  expect(gateway.text()).not.toContain(url);
  await gateway.stop();
});

test('a gateway that starts while the database is unavailable reports the problem and keeps trying', async () => {
  const folder = temporaryFolder();
  const settings = { store: { postgres: { url: await server.newDatabase() } }, node: { name: 'early' } };
  await server.kill();
  let attempts = 0;
  /** Accepts each connection in place of the database, and closes it. */
  const closingServer = createServer((socket) => {
    attempts += 1;
    socket.destroy();
  });
  await once(closingServer.listen(server.port, '127.0.0.1'), 'listening');
  const starting = startAutomation({ folder, resources: resourcesIn(folder), settings });
  await eventually(() => expect(attempts).toBeGreaterThan(1), 20_000);
  await new Promise((resolve) => closingServer.close(resolve));
  await server.start();
  const gateway = await starting;
  const event = { c: 'a', text: 'hello' };
  expect((await postHook(gateway.url, '/hooks/desk', event, { 'idempotency-key': 'a' })).status).toBe(202);
  const warnings = gateway.logs().filter(({ msg }) => msg.includes('could not reach the database'));
  expect(warnings[0]).toMatchObject({
    level: 'warn',
    reason: expect.stringContaining(`the database at 127.0.0.1:${server.port} cannot be reached`),
    msg: 'could not reach the database; retrying',
  });
  await gateway.stop();
});

test.each([
  ['a wrong password', 'me:hunter22', 'none', 'rejected the user or password of store.postgres.url'],
  [
    'a database that is not there',
    'gateway:hunter22',
    'none',
    'does not exist; create it, or correct store.postgres.url',
  ],
])('%s is reported immediately in plain words, without a secret', async (_, user, name, message) => {
  const folder = temporaryFolder();
  const url = `postgres://${user}@127.0.0.1:${server.port}/${name}`;
  const begunAt = performance.now();
  const failure = await startAutomation({
    folder,
    resources: resourcesIn(folder),
    settings: { store: { postgres: { url } } },
  }).then(
    (gateway) => gateway.stop().then(() => 'it started'),
    (error: Error) => error.message,
  );
  expect(failure).toContain(`the database at 127.0.0.1:${server.port} ${message}`);
  expect(failure).not.toContain('hunter22');
  expect(failure).not.toContain('retrying');
  expect(performance.now() - begunAt).toBeLessThan(20_000);
});

test('a gateway whose tables in the database are dropped exits and reports the reason', async () => {
  const folder = temporaryFolder();
  const url = await server.newDatabase();
  const gateway = await startAutomation({
    folder,
    resources: resourcesIn(folder),
    settings: { store: { postgres: { url } }, node: { name: 'bare' } },
  });
  await executeOn(url, 'DROP SCHEMA actor_gateway CASCADE');
  await eventually(() => expect(gateway.logs().at(-1)).toMatchObject({ msg: 'the gateway has failed' }));
  expect(gateway.logs().at(-1)?.reason).toMatch(
    /the database at 127\.0\.0\.1:\d+ has no tables of this version/,
  );
  await gateway.stop();
});

test('while the disk of the database is full, webhooks get 503 and /health reports the problem', async () => {
  const small = await startPostgres([], { diskMb: 32 });
  try {
    const folder = temporaryFolder();
    const settings = { store: { postgres: { url: await small.newDatabase() } }, node: { name: 'full' } };
    const gateway = await startAutomation({ folder, resources: resourcesIn(folder), settings });
    const health = async () => (await (await fetch(`${gateway.url}/health`)).json()) as { triggers?: string };
    // The body needs a new page in a table file, but the disk is full.
    const body = (id: string) => ({ c: id, text: 'hello', more: randomBytes(100_000).toString('hex') });
    const say = async (id: string) =>
      (await postHook(gateway.url, '/hooks/desk', body(id), { 'idempotency-key': id })).status;
    expect([await say('a'), (await health()).triggers]).toEqual([202, undefined]);
    small.fillDisk();
    expect([await say('b'), (await health()).triggers]).toEqual([503, 'the store has no disk space']);
    expect((await fetch(`${gateway.url}/servers`)).status).toBe(200);
    small.freeDisk();
    await eventually(async () => expect((await health()).triggers).toBeUndefined(), 20_000);
    expect(await say('b')).toBe(202);
    const logLines = gateway.logs().filter(({ alarm }) => alarm === 'disk_full');
    expect(logLines.map(({ msg }) => msg)).toEqual(['alarm raised', 'alarm cleared']);
    await gateway.stop();
  } finally {
    await small.stop();
  }
});
