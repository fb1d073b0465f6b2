// What becomes of sessions whose node is killed, stops, or hangs; and of a gateway with another secret.

import { expect, test } from 'vitest';
import {
  type Answer,
  BOTH,
  call,
  EventReader,
  JSON_TYPE,
  message,
  post,
} from '../../fixtures/clients/api-client.ts';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { type NodeProcess, startNode } from '../../fixtures/cluster/gateways-behind.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { startPostgres } from '../../fixtures/store/postgres-server.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const LEASE_MS = 2_000;

const servers = { own: { ...everythingOverStdio(), isolation: 'session' } };

async function cluster(names: readonly string[], settings = {}): Promise<NodeProcess[]> {
  const url = await newDatabase();
  return Promise.all(
    names.map((name) => startNode(name, { url, servers, settings: { shutdown_seconds: 6, ...settings } })),
  );
}

async function begun({ url }: NodeProcess): Promise<string> {
  const introduction = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  };
  return String(
    (await post(`${url}/mcp/own`, message('initialize', introduction))).headers['mcp-session-id'],
  );
}

const said = ({ url }: NodeProcess, session: string, body: string): Promise<Answer> =>
  post(`${url}/mcp/own`, body, { 'mcp-session-id': session });

const list = message('tools/list');
const slow = (ms: number, id = 9) => call('slow', { steps: 1, ms }, id);
const notFound = { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Session not found' } };

test('after kill -9 of its node a session is 404 at the others at once, and calls under way end with a clear error (FW1)', async () => {
  const [a, b, c] = (await cluster(['a', 'b', 'c'])) as [NodeProcess, NodeProcess, NodeProcess];
  const session = await begun(a);
  expect((await said(b, session, list)).json.error).toBeUndefined();
  const stream = new EventReader(`${c.url}/mcp/own`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
  });
  await stream.until('the stream', ({ text }) => text.length > 0);
  const pending = said(b, session, slow(20_000));
  await eventually('the call at its owner', async () => {
    const stats = (await (await fetch(`${a.url}/stats`)).json()) as { requests: { in_flight: number } };
    return stats.requests.in_flight === 1;
  });
  await a.stop('SIGKILL');
  const killedAt = performance.now();
  const answer = await pending;
  expect([answer.status, answer.json.id, answer.json.error.data]).toEqual([
    200,
    9,
    { reason: 'ERR_CONNECTION_LOST' },
  ]);
  await stream.until('its end', ({ isOver }) => isOver);
  for (const node of [b, c]) expect((await said(node, session, list)).json).toEqual(notFound);
  expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + 1_000);
  await Promise.all([b, c].map((node) => node.stop()));
});

test('a node that hangs is given up with its membership: nothing that was passed on to it hangs with it (PRS1)', async () => {
  const [a, b] = (await cluster(['a', 'b'])) as [NodeProcess, NodeProcess];
  const session = await begun(a);
  expect((await said(b, session, list)).json.error).toBeUndefined();
  process.kill(a.pid, 'SIGSTOP');
  const stoppedAt = performance.now();
  const answer = await said(b, session, list);
  expect([answer.status, answer.json.id]).toEqual([200, 1]);
  expect(['ERR_CONNECTION_LOST', 'ERR_UNAVAILABLE']).toContain(answer.json.error.data.reason);
  expect(performance.now() - stoppedAt).toBeLessThan(LEASE_MS + 1_500);
  await eventually('404', async () => (await said(b, session, list)).status === 404, 1_000);
  process.kill(a.pid, 'SIGCONT');
  // The same process is a member again, and its sessions are there.
  await eventually(
    'the session to be served again',
    async () => (await said(b, session, list)).json.error === undefined,
    8_000,
  );
  await Promise.all([a, b].map((node) => node.stop()));
});

test('a node that stops answers what is under way, and everything that begins is a clean 404 everywhere at once (FWS3)', async () => {
  const [a, b, c] = (await cluster(['a', 'b', 'c'])) as [NodeProcess, NodeProcess, NodeProcess];
  const session = await begun(a);
  const other = await begun(b);
  expect((await said(b, session, list)).json.error).toBeUndefined();
  const stream = new EventReader(`${c.url}/mcp/own`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
  });
  await stream.until('the stream', ({ text }) => text.length > 0);
  const [far, near] = [said(b, session, slow(2_000, 5)), said(a, session, slow(2_000, 6))];
  await eventually('both calls at their owner', async () => {
    const stats = (await (await fetch(`${a.url}/stats`)).json()) as { requests: { in_flight: number } };
    return stats.requests.in_flight === 2;
  });
  const ended = a.stop();
  await stream.until('its end', ({ isOver }) => isOver, 1_000);
  for (const node of [a, b, c]) expect((await said(node, session, list)).json).toEqual(notFound);
  // What belongs to a session of another node still goes through the one that stops.
  expect((await said(a, other, list)).json.error).toBeUndefined();
  for (const answer of [await far, await near]) {
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('done');
  }
  expect(await ended).toBe(0);
  expect((await said(b, session, list)).status).toBe(404);
  expect((await said(c, other, list)).json.error).toBeUndefined();
  await Promise.all([b, c].map((node) => node.stop()));
});

test('a session can be ended while its node stops, and a call of it cancelled', async () => {
  const [a, b] = (await cluster(['a', 'b'])) as [NodeProcess, NodeProcess];
  const session = await begun(a);
  expect((await said(b, session, list)).json.error).toBeUndefined();
  const running = said(b, session, slow(30_000, 5));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const ended = a.stop();
  await eventually('the stop', async () => (await said(b, session, list)).status === 404);
  const cancel = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 5 },
  });
  expect((await said(b, session, cancel)).status).toBe(202);
  await running;
  expect(await ended).toBe(0);
  await b.stop();
});

test('a gateway with another secret ends with a clear word, and those that run say who was refused (PRS2)', async () => {
  const url = await newDatabase();
  const good = await startNode('good', { url, servers });
  const failed = await startNode('bad', { url, servers, secret: 'another-secret-of-nodes' }).catch(
    (error: Error) => error.message,
  );
  expect(failed).toMatch(
    /the gateway could not start: the node good at 127\.0\.0\.1:\d+ refuses the proof of this one; node\.secret has to be the same at all gateways of a database/,
  );
  await eventually('the word of the other', () =>
    good.logs().some(({ msg }) => msg.startsWith('a node was refused, its proof is another')),
  );
  expect(good.text()).not.toContain('another-secret-of-nodes');
  expect((await said(good, await begun(good), list)).json.error).toBeUndefined();
  await good.stop();
});

test('more than may be passed on is refused, one node alone gets half, and places come back (FWS1)', async () => {
  const [a, b] = (await cluster(['a', 'b'], { limits: { in_flight: 8 } })) as [NodeProcess, NodeProcess];
  const session = await begun(a);
  expect((await said(b, session, list)).json.error).toBeUndefined();
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => said(b, session, slow(800, n + 1))));
  const refused = answers.filter(({ json }) => json.error !== undefined);
  expect(refused.length).toBeGreaterThanOrEqual(8);
  expect([refused[0]?.status, refused[0]?.headers['retry-after']]).toEqual([200, '1']);
  expect(refused[0]?.json.error.data).toEqual({ reason: 'ERR_OVERLOADED' });
  expect((await said(b, session, slow(1))).json.error).toBeUndefined();
  await Promise.all([a, b].map((node) => node.stop()));
});

test('a client that goes is seen by the owner of its session, which keeps the answer for it', async () => {
  const [a, b] = (await cluster(['a', 'b'])) as [NodeProcess, NodeProcess];
  const session = await begun(a);
  const asked = new EventReader(`${b.url}/mcp/own`, {
    method: 'POST',
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 3,
      method: 'tools/call',
      params: { name: 'slow', arguments: { steps: 4, ms: 300, text: 'kept' }, _meta: { progressToken: 1 } },
    }),
    headers: { 'content-type': JSON_TYPE, accept: BOTH, 'mcp-session-id': session },
  });
  const first = await asked.until('progress', ({ messages }) => messages[0]);
  asked.drop();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const again = new EventReader(`${b.url}/mcp/own`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'last-event-id': first.id ?? '' },
  });
  await again.until('the answer', ({ text }) => text.includes('kept') && text.includes('"id":3'));
  await again.until('its end', ({ isOver }) => isOver);
  await Promise.all([a, b].map((node) => node.stop()));
});

test('without an address a member says so, and its sessions are its own', async () => {
  const url = await newDatabase();
  const a = await startNode('a', { url, servers });
  const b = await startNode('b', { url, servers, node: { address: undefined, secret: undefined } });
  await eventually('the warning', () =>
    b.logs().some(({ msg }) => msg.startsWith('several gateways work on the database')),
  );
  const session = await begun(b);
  expect(session).toMatch(/^[0-9a-f-]{36}$/);
  expect((await said(a, session, list)).status).toBe(404);
  expect((await said(b, await begun(a), list)).status).toBe(404);
  await Promise.all([a, b].map((node) => node.stop()));
});

test('sessions go on through other nodes while the database is away for longer than a lease, and when it is back', async () => {
  const own = await startPostgres();
  try {
    const url = await own.newDatabase();
    const [a, b] = [await startNode('a', { url, servers }), await startNode('b', { url, servers })];
    const session = await begun(a);
    expect((await said(b, session, list)).json.error).toBeUndefined();
    await own.kill();
    const errors = new Set<unknown>();
    const asking = async (forMs: number) => {
      for (const until = performance.now() + forMs; performance.now() < until; )
        errors.add((await said(b, session, list)).json.error);
    };
    await asking(LEASE_MS + 1_500);
    await Promise.all([own.start(), asking(6_000)]);
    expect([...errors]).toEqual([undefined]);
    expect(a.logs().filter(({ msg }) => msg === 'this node works on the database').length).toBeGreaterThan(1);
    await Promise.all([a, b].map((node) => node.stop()));
  } finally {
    await own.stop();
  }
});
