// Suspended calls of modern clients in a cluster: a retry continues the call through any node. Also mutual
// TLS between nodes.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import { message, post } from '../../fixtures/clients/api-client.ts';
import {
  allClientCapabilities,
  type ModernAnswer,
  modern,
  resultOf,
  toolCall,
} from '../../fixtures/clients/modern-client.ts';
import {
  type ClusterSetup,
  type NodeProcess,
  type RoundRobin,
  roundRobin,
  startNode,
} from '../../fixtures/cluster/round-robin.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const accept = { action: 'accept', content: { name: 'Ann' } };
const legacy = { ...everythingOverStdio(), isolation: 'session' };
const stateless = { ...bothErasOverStdio({ isModernOnly: true }), era: 'modern', pool: { max: 2 } };

async function nodesOf(names: readonly string[], more: Partial<ClusterSetup> = {}): Promise<NodeProcess[]> {
  const url = await newDatabase();
  const setup = { url, servers: { legacy, stateless }, ...more };
  return Promise.all(names.map((name) => startNode(name, setup)));
}

const elicit = ({ url }: { url: string }, params: object = {}): Promise<ModernAnswer> =>
  modern(
    `${url}/mcp/legacy`,
    toolCall('elicit', {}, { meta: allClientCapabilities, params: params as never }),
  );

const answersTo = ({ result }: ModernAnswer) => ({
  requestState: result.requestState,
  inputResponses: Object.fromEntries(Object.keys(result.inputRequests).map((key) => [key, accept])),
});

describe('retries of a call that needs client input', () => {
  let nodes: NodeProcess[];
  let balancer: RoundRobin;
  beforeAll(async () => {
    nodes = await nodesOf(['a', 'b', 'c']);
    balancer = await roundRobin(nodes.map(({ url }) => url));
  });
  afterAll(async () => {
    await balancer?.close();
    await Promise.all((nodes ?? []).map((node) => node.stop()));
  });

  test('a call suspended at one node can be continued once, through any node', async () => {
    const [a, b, c] = nodes as [NodeProcess, NodeProcess, NodeProcess];
    const question = await elicit(a);
    expect(question.result.resultType).toBe('input_required');
    const { requestState } = question.result;
    expect(requestState).toMatch(/^[A-Za-z0-9_-]{48}\.[A-Za-z0-9_-]{32}$/);
    const answered = await elicit(b, answersTo(question));
    expect(resultOf(answered)).toMatchObject({ answer: accept });
    for (const node of [a, b, c]) {
      const secondResponse = await elicit(node, answersTo(question));
      expect([secondResponse.error?.code, secondResponse.error?.message]).toEqual([
        -32602,
        expect.stringContaining('requestState is unknown'),
      ]);
    }
  });

  test('each node rejects a changed requestState and that of another call', async () => {
    const [a, b] = nodes as [NodeProcess, NodeProcess];
    const question = await elicit(a);
    const right = answersTo(question);
    const state = String(right.requestState);
    const first = state.startsWith('A') ? 'B' : 'A';
    for (const requestState of [first + state.slice(1), `${state}A`, state.slice(0, 48)])
      for (const node of [a, b])
        expect((await elicit(node, { ...right, requestState })).error?.code).toBe(-32602);
    const other = await modern(
      `${b.url}/mcp/legacy`,
      toolCall('sample', {}, { meta: allClientCapabilities, params: right }),
    );
    expect(other.error?.code).toBe(-32602);
    expect(resultOf(await elicit(b, right))).toMatchObject({ answer: accept });
  });

  test('a retry reaches the server process that encrypted the requestState', async () => {
    const rounds = async (): Promise<unknown> => {
      let params = {};
      for (;;) {
        const address = `${balancer.url}/mcp/stateless`;
        const answer = await modern(
          address,
          toolCall('ask-rounds', {}, { meta: allClientCapabilities, params }),
        );
        if (answer.result?.resultType !== 'input_required') return resultOf(answer);
        params = answersTo(answer);
      }
    };
    for (const answer of await Promise.all(Array.from({ length: 12 }, rounds)))
      expect(answer).toMatchObject({ answers: { q0: accept, q1: accept, q2: accept }, rounds: 4 });
  });

  test('a retry of a call at a killed node fails, and a new call is accepted', async () => {
    const [, b, c] = nodes as [NodeProcess, NodeProcess, NodeProcess];
    const question = await elicit(c);
    await c.stop('SIGKILL');
    const late = await elicit(b, answersTo(question));
    expect([late.status, late.error?.code]).toEqual([200, -32602]);
    expect((await elicit(b)).result.resultType).toBe('input_required');
  });
});

test('nodes that authenticate each other by TLS certificates serve the sessions of each other', async () => {
  const folder = temporaryFolder();
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...curve, '-days', '2', '-subj', '/CN=ca', '-keyout', 'ca.key', '-out', 'ca.pem');
  openssl(
    ...['req', '-new', ...curve, '-subj', '/CN=node', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ...['-keyout', 'node.key', '-out', 'node.csr'],
  );
  openssl(
    ...['x509', '-req', '-in', 'node.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-days', '2', '-copy_extensions', 'copyall', '-out', 'node.pem'],
  );
  const tls = { cert: join(folder, 'node.pem'), key: join(folder, 'node.key'), ca: join(folder, 'ca.pem') };
  const url = await newDatabase();
  const setup = { url, servers: { legacy }, node: { tls } };
  const [a, b] = [await startNode('a', setup), await startNode('b', setup)];
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  };
  const response = await post(`${a.url}/mcp/legacy`, message('initialize', params));
  const session = { 'mcp-session-id': String(response.headers['mcp-session-id']) };
  expect((await post(`${b.url}/mcp/legacy`, message('tools/list'), session)).json.error).toBeUndefined();
  const other = startNode('c', { ...setup, secret: 'another-secret-of-nodes' });
  await expect(other).rejects.toThrow('refuses the proof of this node');
  const without = startNode('d', { url, servers: { legacy } });
  await expect(without).rejects.toThrow('refuses the proof of this node');
  await Promise.all([a.stop(), b.stop()]);
});
