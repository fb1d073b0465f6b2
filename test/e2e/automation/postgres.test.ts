// A gateway whose store is a real PostgreSQL: what it takes is there after kill -9 of it and of the database, and while the database is
// away tools go on.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
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

test('what was acknowledged outlives kill -9 of the gateway and of the database, and without that webhooks are put off', async () => {
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
  const answered = (id: string, answer: string) =>
    eventually(async () => expect(await record(id)).toMatchObject({ state: 'done', answer }));

  expect((await say('hello', 'a')).status).toBe(202);
  await answered('a', 'Heard: hello');
  expect((await say('slow one', 'b')).status).toBe(202);
  await gateway.stop('SIGKILL');

  gateway = await startAutomation({ folder, resources, settings });
  await answered('b', 'Slowly.');
  expect(await record('a')).toMatchObject({ state: 'done', answer: 'Heard: hello' });

  await server.kill();
  const refused = await say('meanwhile', 'c');
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await fetch(`${gateway.url}/servers`)).status).toBe(200);
  await server.start();
  await eventually(async () => expect((await say('meanwhile', 'c')).status).toBe(202));
  await answered('c', 'Heard: meanwhile');

  expect(gateway.text()).not.toContain(url);
  await gateway.stop();
});

test('a gateway that starts while its database is away waits for it, and says so', async () => {
  const folder = temporaryFolder();
  const settings = { store: { postgres: { url: await server.newDatabase() } }, node: { name: 'early' } };
  await server.kill();
  // It is tried at least twice meanwhile.
  let tried = 0;
  const nobody = createServer((socket) => {
    tried += 1;
    socket.destroy();
  });
  await once(nobody.listen(server.port, '127.0.0.1'), 'listening');
  const starting = startAutomation({ folder, resources: resourcesIn(folder), settings });
  await eventually(() => expect(tried).toBeGreaterThan(1), 20_000);
  await new Promise((resolve) => nobody.close(resolve));
  await server.start();
  const gateway = await starting;
  const text = { c: 'a', text: 'hello' };
  expect((await postHook(gateway.url, '/hooks/desk', text, { 'idempotency-key': 'a' })).status).toBe(202);
  const waits = gateway.logs().filter(({ msg }) => msg.includes('it is tried again'));
  expect(waits[0]).toMatchObject({
    level: 'warn',
    reason: expect.stringContaining('the database cannot be reached'),
    msg: 'the database cannot be reached; it is tried again',
  });
  await gateway.stop();
});

test.each([
  [
    'a wrong password',
    'me:hunter22',
    'none',
    'the database refuses the user or the password of store.postgres.url',
  ],
  [
    'a database that is not there',
    'gateway:hunter22',
    'none',
    'the database of store.postgres.url is not there; create it',
  ],
])('%s is said at once in plain words, and nothing secret', async (_, user, name, words) => {
  const folder = temporaryFolder();
  const url = `postgres://${user}@127.0.0.1:${server.port}/${name}`;
  const begunAt = performance.now();
  const said = await startAutomation({
    folder,
    resources: resourcesIn(folder),
    settings: { store: { postgres: { url } } },
  }).then(
    (gateway) => gateway.stop().then(() => 'it started'),
    (error: Error) => error.message,
  );
  expect(said).toContain(words);
  expect(said).not.toContain('hunter22');
  expect(said).not.toContain('it is tried again');
  expect(performance.now() - begunAt).toBeLessThan(20_000);
});

test('a gateway whose tables are dropped ends, and says why', async () => {
  const folder = temporaryFolder();
  const url = await server.newDatabase();
  const gateway = await startAutomation({
    folder,
    resources: resourcesIn(folder),
    settings: { store: { postgres: { url } }, node: { name: 'bare' } },
  });
  await executeOn(url, 'DROP SCHEMA actor_gateway CASCADE');
  await eventually(() => expect(gateway.logs().at(-1)).toMatchObject({ msg: 'the gateway has failed' }));
  expect(gateway.logs().at(-1)?.reason).toContain('the database has no tables of this version any more');
  await gateway.stop();
});

test('while the disk of the database is full webhooks are put off and /health says so, until there is room', async () => {
  const small = await startPostgres([], { diskMb: 32 });
  try {
    const folder = temporaryFolder();
    const settings = { store: { postgres: { url: await small.newDatabase() } }, node: { name: 'full' } };
    const gateway = await startAutomation({ folder, resources: resourcesIn(folder), settings });
    const health = async () => (await (await fetch(`${gateway.url}/health`)).json()) as { triggers?: string };
    // More than fits into what is left of the last page of a table.
    const body = (id: string) => ({ c: id, text: 'hello', more: randomBytes(100_000).toString('hex') });
    const say = async (id: string) =>
      (await postHook(gateway.url, '/hooks/desk', body(id), { 'idempotency-key': id })).status;
    expect([await say('a'), (await health()).triggers]).toEqual([202, undefined]);
    small.fillDisk();
    expect([await say('b'), (await health()).triggers]).toEqual([503, 'the store has no room on its disk']);
    expect((await fetch(`${gateway.url}/servers`)).status).toBe(200);
    small.freeDisk();
    await eventually(async () => expect((await health()).triggers).toBeUndefined(), 20_000);
    expect(await say('b')).toBe(202);
    const told = gateway.logs().filter(({ msg }) => msg.includes('the disk of the store'));
    expect(told.map(({ msg }) => msg)).toEqual([
      'the disk of the store is full: events are refused until there is room',
      'the disk of the store has room again',
    ]);
    await gateway.stop();
  } finally {
    await small.stop();
  }
});
