// Sessions of real clients, where each request is sent to a different gateway.

import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeProof } from '../../../actors/cluster/node-proof.ts';
import { type Answer, ask, call, EventReader, message, post } from '../../fixtures/clients/api-client.ts';
import { eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import type { Stats } from '../../fixtures/clients/raw-session.ts';
import {
  CLUSTER_SECRET,
  type NodeProcess,
  type RoundRobin,
  roundRobin,
  startNode,
} from '../../fixtures/cluster/round-robin.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

let nodes: NodeProcess[];
let balancer: RoundRobin;

beforeAll(async () => {
  const url = await newDatabase();
  const servers = { own: { ...everythingOverStdio(), isolation: 'session' }, shared: everythingOverStdio() };
  nodes = await Promise.all(
    ['north-1', 'north-2', 'north-3'].map((name) =>
      startNode(name, { url, servers, settings: { limits: { body_bytes: 4_194_304 } } }),
    ),
  );
  balancer = await roundRobin(nodes.map((node) => node.url));
});
afterAll(async () => {
  await balancer?.close();
  await Promise.all((nodes ?? []).map((node) => node.stop()));
});

const at = (index: number) => nodes[index] as NodeProcess;

const introduction = (capabilities = {}) =>
  message('initialize', {
    protocolVersion: '2025-11-25',
    capabilities,
    clientInfo: { name: 'raw', version: '1' },
  });

/** Opens a session on a node. Returns the id. */
async function openSession(index: number, path = '/mcp/own', capabilities = {}): Promise<string> {
  const { headers } = await post(`${at(index).url}${path}`, introduction(capabilities));
  return String(headers['mcp-session-id']);
}

const send = (index: number, session: string, body: string, path = '/mcp/own'): Promise<Answer> =>
  post(`${at(index).url}${path}`, body, { 'mcp-session-id': session });

describe('an SDK client behind a load balancer without session affinity', () => {
  test('lists and calls tools, and answers questions through another node', async () => {
    const questions: unknown[] = [];
    const client = await McpClient.connect(`${balancer.url}/mcp/own`, {
      sample: (params) => {
        questions.push(params.messages);
        return { model: 'm', role: 'assistant', content: { type: 'text', text: 'heard' } };
      },
      elicit: () => ({ action: 'accept', content: { name: 'ann' } }),
    });
    const { tools } = await client.client.listTools();
    expect(tools.map(({ name }) => name)).toContain('echo');
    for (let n = 0; n < 9; n += 1) {
      expect(await client.call('echo', { n })).toEqual({ n });
      expect(await client.call('sample', { prompt: `p${n}` })).toMatchObject({ answer: { model: 'm' } });
      expect(await client.call('elicit')).toMatchObject({ answer: { content: { name: 'ann' } } });
    }
    expect(questions).toHaveLength(9);
    expect(Math.min(...balancer.counts)).toBeGreaterThan(5);
    await client.leave();
  });

  test('receives progress and other notifications, and cancels calls', async () => {
    const client = await McpClient.connect(`${balancer.url}/mcp/own`);
    const steps: number[] = [];
    await client.client.callTool({ name: 'slow', arguments: { steps: 20, ms: 5 } }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    });
    expect(steps).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
    const controller = new AbortController();
    const running = client.client.callTool({ name: 'slow', arguments: { steps: 400, ms: 50 } }, undefined, {
      signal: controller.signal,
      onprogress: () => controller.abort('enough'),
    });
    await expect(running).rejects.toThrow();
    await eventually('the cancellation', async () => {
      const stats = await Promise.all(
        nodes.map(async ({ url }) => (await (await fetch(`${url}/stats`)).json()) as Stats),
      );
      return stats.every(({ requests }) => requests.in_flight === 0);
    });
    await client.client.setLoggingLevel('info');
    await client.call('log-unbidden', { data: 'of no call', ms: 50 });
    await eventually('the note', () => client.count('notifications/message') === 1);
    await client.leave();
  });

  test('gets only messages of its own session among many concurrent sessions', async () => {
    const clients = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        McpClient.connect(`${balancer.url}/mcp/own`, {
          elicit: ({ message: text }) => ({ action: 'accept', content: { name: `${n} ${text}` } }),
        }),
      ),
    );
    await Promise.all(
      clients.flatMap((client, n) =>
        Array.from({ length: 10 }, async (_, index) => {
          expect(await client.call('elicit', { message: `q${index}` })).toMatchObject({
            answer: { content: { name: `${n} q${index}` } },
          });
        }),
      ),
    );
    await Promise.all(clients.map((client) => client.leave()));
  });
});

describe('a session in a cluster', () => {
  test('returns the same responses, large or streamed, through other nodes as through its owner', async () => {
    const session = await openSession(0);
    const echo = call('echo', { text: 'ä€😀' }, 7);
    const [here, there] = [await send(0, session, echo), await send(1, session, echo)];
    expect(there.status).toBe(200);
    expect(there.json).toEqual(here.json);
    expect(there.headers['content-type']).toBe('application/json');
    expect(there.headers['content-length']).toBe(here.headers['content-length']);
    expect(there.headers['mcp-session-id']).toBe(session);
    for (const bytes of [60_000, 70_000, 3_000_000]) {
      const large = await send(2, session, call('echo', { text: 'x'.repeat(bytes) }, 8));
      expect(JSON.parse(large.json.result.content[0].text).text).toHaveLength(bytes);
    }
    const refusal = await send(1, session, call('echo', { text: 'x'.repeat(4_200_000) }));
    expect(refusal.status).toBe(413);
    const streamed = await send(
      1,
      session,
      message('tools/call', { name: 'slow', arguments: { steps: 3 }, _meta: { progressToken: 't' } }),
    );
    expect(streamed.headers['content-type']).toBe('text/event-stream');
    expect(streamed.text.match(/notifications\/progress/g)).toHaveLength(3);
    expect(streamed.text.match(/^id: /gm)?.length).toBeGreaterThanOrEqual(4);
  });

  test('resumes a stream that was lost at one node at another node with Last-Event-ID', async () => {
    const session = await openSession(0);
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session };
    const first = new EventReader(`${at(1).url}/mcp/own`, { headers });
    await first.until('the stream', ({ text }) => text.length > 0);
    await send(2, session, message('logging/setLevel', { level: 'info' }));
    await send(2, session, call('log-unbidden', { data: 'one', ms: 50 }));
    const has = (data: string) => (reader: EventReader) =>
      reader.messages.find((event) => event.data.includes(`"${data}"`));
    const { id = '' } = await first.until('the first', has('one'));
    first.drop();
    // The owner stores messages while no client listens.
    await send(0, session, call('log-unbidden', { data: 'two', ms: 50 }));
    const second = new EventReader(`${at(2).url}/mcp/own`, { headers: { ...headers, 'last-event-id': id } });
    await second.until('the second', has('two'));
    expect(has('one')(second)).toBeUndefined();
    second.drop();
  });

  test('returns 404 at all nodes after its end, for a changed session id, or at another path', async () => {
    const session = await openSession(1);
    const list = message('tools/list');
    expect((await send(0, session, list)).json.error).toBeUndefined();
    expect((await send(0, session, list, '/mcp')).status).toBe(404);
    expect((await send(0, session, list, '/mcp/shared')).status).toBe(404);
    const flipped = session.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    for (const id of [flipped, session.slice(1), `${session}A`, 'x'.repeat(48), crypto.randomUUID()])
      for (const index of [0, 1, 2]) {
        const answer = await send(index, id, list);
        expect([answer.status, answer.json]).toEqual([
          404,
          { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Session not found' } },
        ]);
      }
    const response = await ask(`${at(2).url}/mcp/own`, {
      method: 'DELETE',
      headers: { 'mcp-session-id': session },
    });
    expect(response.status).toBe(204);
    for (const index of [0, 1, 2]) expect((await send(index, session, list)).status).toBe(404);
  });

  test('has an id that reveals nothing about its node, in any encoding', async () => {
    for (const index of [0, 1, 2]) {
      const { name, address, pid, port } = at(index);
      const [, nodePort = ''] = address.split(':');
      const session = await openSession(index);
      const bytes = Buffer.from(session, 'base64url');
      const readings = [session, ...(['hex', 'latin1', 'base64'] as const).map((how) => bytes.toString(how))];
      for (const text of [name, address, '127.0.0.1', String(pid), String(port), nodePort])
        for (const reading of readings) {
          expect(reading).not.toContain(Buffer.from(text).toString('hex'));
          expect(reading).not.toContain(Buffer.from(text).toString('base64url').slice(0, 6));
          if (text.length > 5) expect(reading).not.toContain(text);
        }
    }
  });

  test('ignores node headers that a client sends', async () => {
    const session = await openSession(0);
    for (const headers of [
      { 'x-node-to': '0'.repeat(16) },
      { 'x-node-epoch': '1' },
      { 'x-node-proof': 'x', connection: 'x-node-to, mcp-session-id-2' },
      { 'x-forwarded-for': '10.0.0.1', 'x-node-from': 'a' },
    ]) {
      const answer = await post(`${at(1).url}/mcp/own`, message('tools/list'), {
        ...headers,
        'mcp-session-id': session,
      });
      expect(answer.json.error).toBeUndefined();
    }
  });

  test('keeps the request id and the trace of a request that is forwarded to its owner', async () => {
    const session = await openSession(0);
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const answer = await post(`${at(1).url}/mcp/own`, call('refuse', {}), {
      'mcp-session-id': session,
      'x-request-id': 'of-the-client.1',
      traceparent: trace,
    });
    expect(answer.headers['x-request-id']).toBe('of-the-client.1');
  });
});

describe('the cluster address of a node', () => {
  test('answers only nodes that prove their identity, and serves only session routes', async () => {
    const { address } = at(0);
    const [host = '', port = ''] = address.split(':');
    const plain = await ask(`http://${address}/mcp`);
    expect([plain.status, plain.json.error]).toEqual([403, 'Forbidden']);
    expect(at(0).text()).not.toContain(CLUSTER_SECRET);
    const { client } = await nodeProof({ secret: CLUSTER_SECRET });
    const request = (path: string, headers = {}) =>
      new Promise<number>((resolve, reject) => {
        httpsRequest({ ...client, host, port, path, headers, agent: false }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
    for (const path of ['/servers', '/-/hello', '/mcp', '/inspector']) expect(await request(path)).toBe(421);
    expect(await request('/mcp', { 'x-node-to': '0'.repeat(16) })).toBe(421);
    const socket = connect(Number(port), host);
    socket.on('error', () => {});
    socket.end('GET / HTTP/1.1\r\n\r\n');
  });
});
