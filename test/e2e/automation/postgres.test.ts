// A gateway whose store is a real PostgreSQL: what it takes is there after kill -9 of it and of the database, and while the database is
// away tools go on.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  agent,
  eventually,
  postHook,
  SECRET,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { type PostgresServer, startPostgres } from '../../fixtures/store/postgres-server.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

const script = `
- { match: { text: slow }, answer: Slowly., delay_ms: 1500 }
- { answer: 'Heard: {{input}}' }
`;

test('what was acknowledged outlives kill -9 of the gateway and of the database, and without that webhooks are put off', async () => {
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

test('a database that cannot be reached is said in plain words, and not with its password', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'desk.script'), script);
  const resources = [
    trigger('desk', {
      type: 'HTTP',
      config: { path: '/hooks/desk', webhook_secret: SECRET },
      default_agent: 'desk',
    }),
    agent('desk', { model: `scripted:${join(folder, 'desk.script')}` }),
  ];
  const settings = { store: { postgres: { url: 'postgres://me:hunter22@127.0.0.1:9/none' } } };
  const said = await startAutomation({ folder, resources, settings }).then(
    (gateway) => gateway.stop().then(() => 'it started'),
    (error: Error) => error.message,
  );
  expect(said).toContain('the database takes no connection; start it, or correct store.postgres.url');
  expect(said).not.toContain('hunter22');
});
