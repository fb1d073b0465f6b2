// Flows whose nodes receive large or hostile answers: a limit fails the node, which takes `on_error`, and the
// gateway serves other requests meanwhile.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fleet, flow, httpAgent, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

let gateway: GatewayProcess;
let site: Server;
const requestCounts = new Map<string, number>();

const answers: Readonly<Record<string, string>> = {
  '/list': JSON.stringify({ items: Array.from({ length: 60_000 }, (_, index) => index % 10) }),
  '/page': JSON.stringify({ seen: Array.from({ length: 15_000 }, (_, index) => 100_000 + index) }),
  '/text': JSON.stringify({ text: 'a'.repeat(130_000) }),
  '/deep': `{"text":"x","data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  '/hostile': '{"ok":true,"constructor":"x","n":{"constructor":null,"v":1}}',
};

const siteUrl = () => `http://127.0.0.1:${(site.address() as AddressInfo).port}`;

/** Gets the pages, evaluates an expression, and answers with the error if that fails. */
const computing = (name: string, paths: readonly string[], expression: string) => {
  const ids = [...paths, 'out', 'yes'];
  return flow(name, {
    nodes: [
      ...paths.map((path) => ({ id: path, type: 'HTTP', config: { url: `${siteUrl()}/${path}` } })),
      { id: 'out', type: 'Transform', config: { set: { x: `{{ ${expression} }}` } }, on_error: 'no' },
      { id: 'yes', type: 'Response', config: { text: '{{ json(steps.out.output.x) }}' } },
      { id: 'no', type: 'Response', config: { text: 'failed: {{ steps.out.error }}' } },
    ],
    connections: ids.slice(1).map((to, index) => ({ from: ids[index], to })),
  });
};

/** Answers with the error of a node that fails. */
const calling = (name: string, node: object) =>
  flow(name, {
    nodes: [
      { id: 'get', ...node, on_error: 'no' },
      { id: 'yes', type: 'Response', config: { text: 'ok' } },
      { id: 'no', type: 'Response', config: { text: 'failed: {{ steps.get.error }}' } },
    ],
    connections: [{ from: 'get', to: 'yes' }],
  });

beforeAll(async () => {
  site = createServer((request, response) => {
    request.resume();
    const path = request.url ?? '';
    requestCounts.set(path, (requestCounts.get(path) ?? 0) + 1);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answers[path.replace(/\?.*/, '')] ?? '{}');
  });
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  gateway = await startAutomation({
    resources: [
      computing(
        'search',
        ['list', 'page'],
        'size(steps.list.output.body.items.filter(i, !(i in steps.page.output.body.seen)))',
      ),
      computing(
        'copy',
        ['list', 'text'],
        'steps.list.output.body.items.map(i, steps.text.output.body.text + string(i))',
      ),
      httpAgent('deep', `${siteUrl()}/deep?agent`),
      fleet('deep', { agents: [{ name: 'deep' }], coordination: { mode: 'pipeline' } }),
      calling('deep-http', {
        type: 'HTTP',
        config: { method: 'POST', url: `${siteUrl()}/deep?http`, body: {} },
      }),
      calling('deep-agent', { type: 'Agent', config: { agent: 'deep', input: 'x' } }),
      computing('member', ['hostile'], '[steps.hostile.output.body.ok, steps.hostile.output.body.n.v]'),
      computing('own', ['hostile'], 'steps.hostile.output.body.constructor'),
    ],
  });
});

afterAll(async () => {
  await gateway.stop();
  site.close().closeAllConnections();
});

const run = (target: string) => {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ input: 'x', wait_seconds: 20 });
  return ask(`${gateway.url}/${target}/runs`, { method: 'POST', headers, body });
};

const answerOf = async (name: string): Promise<string> => (await run(`flows/${name}`)).json.answer;

test.concurrent.each([
  ['search', /^failed: `size\(.*`: the expressions of a node have at most 100000 steps: /],
  [
    'copy',
    /^failed: `steps\.list.*`: the expressions of a node (?:have at most 100000 steps|build at most 8388608 bytes): /,
  ],
])(
  'a flow node whose expression exceeds its budget fails, and its on_error is taken: %s (CEL2)',
  async (name, answer) => {
    expect(await answerOf(name)).toMatch(answer);
  },
);

test.concurrent.each([
  ['member', '[true,1]'],
  ['own', '"x"'],
])('expressions read an answer that has a member named constructor: %s', async (name, answer) => {
  expect(await answerOf(name)).toBe(answer);
});

test.each(['http', 'agent'])(
  'a flow node that gets JSON with too many levels fails without a repetition, and its on_error is taken: %s',
  async (kind) => {
    requestCounts.clear();
    expect(await answerOf(`deep-${kind}`)).toMatch(/^failed: .*answered JSON with more than 256 levels$/);
    expect(requestCounts.get(`/deep?${kind}`)).toBe(1);
  },
);

test.each(['agents', 'fleets'])(
  'a run of %s whose answer has too many levels fails with the reason',
  async (kind) => {
    requestCounts.clear();
    const { status, json } = await run(`${kind}/deep`);
    expect([status, json.state]).toEqual([200, 'failed']);
    expect(json.note).toContain('answered JSON with more than 256 levels');
    expect(requestCounts.get('/deep?agent')).toBe(1);
  },
);
