// Flows whose nodes receive large or hostile answers: a limit fails the node, which takes `on_error`, and the
// gateway serves other requests meanwhile.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { flow, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

let gateway: GatewayProcess;
let site: Server;

const answers: Readonly<Record<string, string>> = {
  '/list': JSON.stringify({ items: Array.from({ length: 60_000 }, (_, index) => index % 10) }),
  '/page': JSON.stringify({ seen: Array.from({ length: 15_000 }, (_, index) => 100_000 + index) }),
  '/text': JSON.stringify({ text: 'a'.repeat(130_000) }),
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

beforeAll(async () => {
  site = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(answers[request.url ?? ''] ?? '{}');
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
      computing('member', ['hostile'], '[steps.hostile.output.body.ok, steps.hostile.output.body.n.v]'),
      computing('own', ['hostile'], 'steps.hostile.output.body.constructor'),
    ],
  });
});

afterAll(async () => {
  await gateway.stop();
  site.close().closeAllConnections();
});

const answerOf = async (name: string): Promise<string> => {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ wait_seconds: 20 });
  return (await ask(`${gateway.url}/flows/${name}/runs`, { method: 'POST', headers, body })).json.answer;
};

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
