// Sessions whose node is killed, stops, or hangs. Also a gateway with a different secret.

import { expect, test } from 'vitest';
import {
  type Answer,
  ask,
  BOTH,
  call,
  EventReader,
  JSON_TYPE,
  message,
  post,
} from '../../fixtures/clients/api-client.ts';
import { eventually } from '../../fixtures/clients/mcp-client.ts';
import { type NodeProcess, startNode } from '../../fixtures/cluster/round-robin.ts';
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

async function openSession({ url }: NodeProcess): Promise<string> {
  const introduction = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  };
  return String(
    (await post(`${url}/mcp/own`, message('initialize', introduction))).headers['mcp-session-id'],
  );
}

const send = ({ url }: NodeProcess, session: string, body: string): Promise<Answer> =>
  post(`${url}/mcp/own`, body, { 'mcp-session-id': session });

/** Returns the process of the session, at any node; undefined if the call fails. */
async function processOf(node: NodeProcess, session: string): Promise<number | undefined> {
  const { json } = await send(node, session, call('stats'));
  return json.result && JSON.parse(json.result.content[0].text).pid;
}

const list = message('tools/list');
const slow = (ms: number, id = 9) => call('slow', { steps: 1, ms }, id);

test('after kill -9 of the owner a session continues at other nodes immediately, and current calls fail with a clear error', async () => {
  const [a, b, c] = (await cluster(['a', 'b', 'c'])) as [NodeProcess, NodeProcess, NodeProcess];
  const session = await openSession(a);
  expect((await send(b, session, list)).json.error).toBeUndefined();
  const stream = new EventReader(`${c.url}/mcp/own`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
  });
  await stream.until('the stream', ({ text }) => text.length > 0);
  const pending = send(b, session, slow(20_000));
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
  const pids = await Promise.all([b, c, b, c].map((node) => processOf(node, session)));
  expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + 1_000);
  // One node has taken it over, in one process.
  expect(pids).toEqual(new Array(4).fill(pids[0]));
  expect(pids[0]).toBeGreaterThan(0);
  const ended = await ask(`${b.url}/mcp/own`, { method: 'DELETE', headers: { 'mcp-session-id': session } });
  expect(ended.status).toBe(204);
  for (const node of [b, c]) expect((await send(node, session, list)).status).toBe(404);
  await Promise.all([b, c].map((node) => node.stop()));
});

test('a hanging node is given up when its membership expires, and requests forwarded to it fail then', async () => {
  const [a, b] = (await cluster(['a', 'b'])) as [NodeProcess, NodeProcess];
  const session = await openSession(a);
  expect((await send(b, session, list)).json.error).toBeUndefined();
  process.kill(a.pid, 'SIGSTOP');
  const stoppedAt = performance.now();
  const answer = await send(b, session, list);
  expect([answer.status, answer.json.id]).toEqual([200, 1]);
  expect(['ERR_CONNECTION_LOST', 'ERR_UNAVAILABLE']).toContain(answer.json.error.data.reason);
  expect(performance.now() - stoppedAt).toBeLessThan(LEASE_MS + 1_500);
  const atB = await eventually('the session at another node', () => processOf(b, session), 2_000);
  process.kill(a.pid, 'SIGCONT');
  // The same process has rejoined, and forwards to the node that has taken the session over.
  await eventually(
    'the session through its former node',
    async () => (await processOf(a, session)) === atB,
    8_000,
  );
  expect(await processOf(b, session)).toBe(atB);
  await Promise.all([a, b].map((node) => node.stop()));
});

test('a stopping node answers current calls, and other nodes take its sessions over immediately', async () => {
  const [a, b, c] = (await cluster(['a', 'b', 'c'])) as [NodeProcess, NodeProcess, NodeProcess];
  const session = await openSession(a);
  const other = await openSession(b);
  expect((await send(b, session, list)).json.error).toBeUndefined();
  const stream = new EventReader(`${c.url}/mcp/own`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
  });
  await stream.until('the stream', ({ text }) => text.length > 0);
  const [far, near] = [send(b, session, slow(2_000, 5)), send(a, session, slow(2_000, 6))];
  await eventually('both calls at their owner', async () => {
    const stats = (await (await fetch(`${a.url}/stats`)).json()) as { requests: { in_flight: number } };
    return stats.requests.in_flight === 2;
  });
  const stopping = a.stop();
  await stream.until('its end', ({ isOver }) => isOver, 1_000);
  for (const node of [b, c]) expect((await send(node, session, list)).json.error).toBeUndefined();
  expect((await send(a, session, list)).status).toBe(503);
  // Requests for a session of another node still pass through the node that stops.
  expect((await send(a, other, list)).json.error).toBeUndefined();
  for (const answer of [await far, await near]) {
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('done');
  }
  expect(await stopping).toBe(0);
  expect((await send(b, session, list)).json.error).toBeUndefined();
  expect((await send(c, other, list)).json.error).toBeUndefined();
  await Promise.all([b, c].map((node) => node.stop()));
});

test('while a node stops, its sessions can still be ended and their calls cancelled', async () => {
  const [a, b] = (await cluster(['a', 'b'])) as [NodeProcess, NodeProcess];
  const session = await openSession(a);
  expect((await send(b, session, list)).json.error).toBeUndefined();
  const running = send(b, session, slow(30_000, 5));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const stopping = a.stop();
  await eventually('the stop', () => a.logs().some(({ msg }) => msg === 'stopping'));
  expect((await send(b, session, list)).json.error).toBeUndefined();
  const cancel = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 5 },
  });
  expect((await send(b, session, cancel)).status).toBe(202);
  await running;
  expect(await stopping).toBe(0);
  await b.stop();
});

test('a gateway with another secret exits with a clear message, and running gateways log the rejected node', async () => {
  const url = await newDatabase();
  const good = await startNode('good', { url, servers });
  const failed = await startNode('bad', { url, servers, secret: 'another-secret-of-nodes' }).catch(
    (error: Error) => error.message,
  );
  expect(failed).toMatch(
    /the gateway could not start: the node good at 127\.0\.0\.1:\d+ refuses the proof of this node; use the same node\.secret on all gateways of a database/,
  );
  await eventually('the message of the other', () =>
    good.logs().some(({ msg }) => msg.startsWith('refused a node with another proof')),
  );
  expect(good.text()).not.toContain('another-secret-of-nodes');
  expect((await send(good, await openSession(good), list)).json.error).toBeUndefined();
  await good.stop();
});

test('requests forwarded between nodes are limited in total, and per node to half of the total; slots are released', async () => {
  const [a, b] = (await cluster(['a', 'b'], { limits: { in_flight: 8 } })) as [NodeProcess, NodeProcess];
  const session = await openSession(a);
  expect((await send(b, session, list)).json.error).toBeUndefined();
  const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => send(b, session, slow(800, n + 1))));
  const refusals = answers.filter(({ json }) => json.error !== undefined);
  expect(refusals.length).toBeGreaterThanOrEqual(8);
  // The owner of the session also refuses some, because a single client gets a third of its slots.
  const [refusal] = refusals.filter(({ json }) => json.error.data.server === undefined);
  expect([refusal?.status, refusal?.headers['retry-after']]).toEqual([200, '1']);
  expect(refusal?.json.error.data).toEqual({ reason: 'ERR_OVERLOADED' });
  expect((await send(b, session, slow(1))).json.error).toBeUndefined();
  await Promise.all([a, b].map((node) => node.stop()));
});

test('the owner of a session notices that the client disconnected, and keeps the answer', async () => {
  const [a, b] = (await cluster(['a', 'b'])) as [NodeProcess, NodeProcess];
  const session = await openSession(a);
  const stream = new EventReader(`${b.url}/mcp/own`, {
    method: 'POST',
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 3,
      method: 'tools/call',
      params: { name: 'slow', arguments: { steps: 4, ms: 300, text: 'kept' }, _meta: { progressToken: 1 } },
    }),
    headers: { 'content-type': JSON_TYPE, accept: BOTH, 'mcp-session-id': session },
  });
  const first = await stream.until('progress', ({ messages }) => messages[0]);
  stream.drop();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const secondReader = new EventReader(`${b.url}/mcp/own`, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'last-event-id': first.id ?? '' },
  });
  await secondReader.until('the answer', ({ text }) => text.includes('kept') && text.includes('"id":3'));
  await secondReader.until('its end', ({ isOver }) => isOver);
  await Promise.all([a, b].map((node) => node.stop()));
});

test('a node without an address reports the problem, and keeps its own sessions', async () => {
  const url = await newDatabase();
  const a = await startNode('a', { url, servers });
  const b = await startNode('b', { url, servers, node: { address: undefined, secret: undefined } });
  await eventually('the warning', () =>
    b.logs().some(({ msg }) => msg.startsWith('several gateways use the database')),
  );
  const session = await openSession(b);
  expect(session).toMatch(/^[0-9a-f-]{36}$/);
  expect((await send(a, session, list)).status).toBe(404);
  expect((await send(b, await openSession(a), list)).status).toBe(404);
  await Promise.all([a, b].map((node) => node.stop()));
});

test('sessions continue through other nodes during a database outage longer than a lease, and after it', async () => {
  const own = await startPostgres();
  try {
    const url = await own.newDatabase();
    const [a, b] = [await startNode('a', { url, servers }), await startNode('b', { url, servers })];
    const session = await openSession(a);
    expect((await send(b, session, list)).json.error).toBeUndefined();
    await own.kill();
    const errors = new Set<unknown>();
    const asking = async (forMs: number) => {
      for (const until = performance.now() + forMs; performance.now() < until; )
        errors.add((await send(b, session, list)).json.error);
    };
    await asking(LEASE_MS + 1_500);
    await Promise.all([own.start(), asking(6_000)]);
    expect([...errors]).toEqual([undefined]);
    expect(a.logs().filter(({ msg }) => msg === 'joined the cluster').length).toBeGreaterThan(1);
    await Promise.all([a, b].map((node) => node.stop()));
  } finally {
    await own.stop();
  }
});
