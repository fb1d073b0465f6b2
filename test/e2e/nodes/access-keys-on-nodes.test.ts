// Access keys at three gateways on one PostgreSQL: every node accepts a new key immediately, and refuses
// a revoked one within a second. Cached keys work for a while during an outage of the database.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { newKeyText } from '../../../actors/identity/access-keys/key-text.ts';
import {
  ADMIN_KEY,
  bearer,
  createKey,
  postKeys,
  revokeKey,
  rotateKey,
  type TestKey,
} from '../../fixtures/clients/access-keys.ts';
import { ask, call, EventReader, eventually, initialize, rpc } from '../../fixtures/clients/api-client.ts';
import { type NodeProcess, startNode } from '../../fixtures/cluster/round-robin.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { type PostgresServer, startPostgres } from '../../fixtures/store/postgres-server.ts';

const WITHIN_MS = 1_000;

let server: PostgresServer;
let nodes: NodeProcess[];
beforeAll(async () => {
  server = await startPostgres();
  const url = await server.newDatabase();
  const settings = { api_key: ADMIN_KEY, store: { postgres: { url } } };
  nodes = await Promise.all(
    ['a', 'b', 'c'].map((name) => startNode(name, { url, servers: { echo: fault('echo') }, settings })),
  );
});
afterAll(async () => {
  await Promise.all((nodes ?? []).map((node) => node.stop()));
  await server?.stop();
});

const urlOf = (index: number): string => nodes[index]?.url ?? '';
const statusAt = async (index: number, { headers }: Pick<TestKey, 'headers'>) =>
  (await ask(`${urlOf(index)}/servers`, { headers })).status;
const onAll = (key: Pick<TestKey, 'headers'>) => Promise.all([0, 1, 2].map((index) => statusAt(index, key)));

test('a created or rotated key works on every node immediately, and a wrong one on none', async () => {
  const first = await createKey(urlOf(0), 'spread', 'user');
  expect(await onAll(first)).toEqual([200, 200, 200]);
  const second = await rotateKey(urlOf(1), first.id, '24h');
  expect(await onAll(second)).toEqual([200, 200, 200]);
  expect(await onAll(first)).toEqual([200, 200, 200]);
  expect(await onAll({ headers: bearer(second.key.replace(second.id, 'aaaaaaaaaa')) })).toEqual([
    403, 403, 403,
  ]);
  const taken = await Promise.all(
    [0, 1, 2].map((index) => postKeys(urlOf(index), { name: 'once', role: 'user' })),
  );
  expect(taken.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
});

test('a revoked key ends its streams on every node within a second, and a call in flight is answered', async () => {
  const key = await createKey(urlOf(0), 'ended', 'user');
  const { headers } = key;
  const session = await initialize(`${urlOf(0)}/mcp/echo`, '2025-11-25', headers);
  const own = await initialize(`${urlOf(1)}/mcp/echo`, '2025-11-25', headers);
  const logs = { headers: { ...headers, accept: 'text/event-stream' } };
  const streams = [
    // This request is forwarded to the node of the session.
    new EventReader(`${urlOf(1)}/mcp/echo`, { headers: { ...headers, ...session } }),
    new EventReader(`${urlOf(1)}/mcp/echo`, { headers: { ...headers, ...own } }),
    new EventReader(`${urlOf(1)}/logs`, logs),
    new EventReader(`${urlOf(2)}/logs`, logs),
  ];
  for (const stream of streams) await stream.opened();
  const pending = rpc(urlOf(1), 'echo', call('wait', { ms: 1_500 }), headers);
  await eventually('the call in flight', async () => {
    const { json } = await ask(`${urlOf(1)}/servers/echo`, { headers: bearer(ADMIN_KEY) });
    return json.in_flight > 0;
  });
  const startedAt = performance.now();
  expect(await revokeKey(urlOf(2), key.id)).toBe(204);
  await Promise.all([
    ...streams.map((stream) => stream.ended()),
    ...[0, 1, 2].map((index) => eventually('the refusal', async () => (await statusAt(index, key)) === 403)),
  ]);
  expect(performance.now() - startedAt).toBeLessThan(WITHIN_MS);
  expect((await pending).text).toContain('waited 1500');
});

test('without the database known keys and the api_key work, unknown keys get 503, and changes are refused', async () => {
  const known = await createKey(urlOf(0), 'known', 'user');
  const unknown = await createKey(urlOf(0), 'unknown', 'user');
  expect(await statusAt(1, known)).toBe(200);
  await server.kill();
  await eventually(
    'the outage',
    async () => (await postKeys(urlOf(1), { name: 'x', role: 'user' })).status === 503,
  );
  expect(await statusAt(1, known)).toBe(200);
  const invented = { headers: bearer(newKeyText().text) };
  await eventually('the refusal', async () => (await statusAt(1, invented)) === 503);
  const refused = await ask(`${urlOf(1)}/servers`, invented);
  expect(refused.headers['retry-after']).toBe('5');
  expect(refused.json.error).toBe('Service Unavailable');
  expect(await onAll({ headers: bearer(ADMIN_KEY) })).toEqual([200, 200, 200]);
  await server.start();
  await eventually('the database', async () => (await revokeKey(urlOf(1), unknown.id)) === 204);
  await eventually('the refusal', async () => (await statusAt(0, unknown)) === 403);
  expect(await statusAt(1, invented)).toBe(403);
  expect(await statusAt(1, known)).toBe(200);
});
