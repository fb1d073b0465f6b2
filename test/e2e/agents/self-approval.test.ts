// An agent without an API key and with a tool that sends requests: the model tries to approve its own call,
// to start another run, and to call a denied tool at the gateway's addresses. These requests have no effect.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  expectRunState,
  MODEL,
  requestMessages,
  requestToolResults,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { agent } from '../../fixtures/automation/automation.ts';
import { ask, fixture } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

const paid = join(temporaryFolder(), 'paid');
const curiousServer = { command: process.execPath, args: [fixture('curious.mjs')], env: { PAID: paid } };

let model: ModelServer;
let gateway: GatewayProcess;

/** Calls of the `web` tool that the model makes in one answer. Each test sets them. */
let attempts: readonly { readonly url: string; readonly headers?: object; readonly body?: string }[] = [];

beforeAll(async () => {
  writeFileSync(paid, '');
  model = (await ModelServer.start()).answerWith((request) => {
    const input = requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    if (answersSoFar(request) > 0) return { text: requestToolResults(request).join('\n') };
    if (input === 'pay') return { calls: [{ name: 'pay', input: { to: 'eve' } }] };
    return { calls: attempts.map((each) => ({ name: 'web', input: { method: 'POST', ...each } })) };
  });
  gateway = await startModelGateway(model, {
    servers: { bank: curiousServer },
    resources: [
      agent('clerk', {
        model: MODEL,
        mcp_servers: [{ name: 'own', ...curiousServer }],
        policy: { ask: ['pay'], deny: ['look'], approvers: ['ada'] },
      }),
    ],
  });
});

afterAll(async () => {
  await gateway.stop();
});

async function run(input: string) {
  const body = JSON.stringify({ input, wait_seconds: 20 });
  const headers = { 'content-type': 'application/json' };
  return (await ask(`${gateway.url}/agents/clerk/runs`, { method: 'POST', headers, body })).json;
}

test('an agent cannot approve its own call, start runs, or call tools past its policy', async () => {
  const { id, state } = await run('pay');
  expect(state).toBe('waiting');
  const { approvals } = (await ask(`${gateway.url}/approvals?state=pending`)).json;
  const call = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'pay', arguments: { to: 'mallory' } },
  });
  const at = (path: string, more: object = {}) => ({ url: gateway.url + path, body: '{}', ...more });
  attempts = [
    at(`/approvals/${approvals[0].id}/approve`),
    at(`/approvals/${approvals[0].id}/approve`, { headers: { authorization: 'Bearer x' } }),
    at('/agents/clerk/runs', { body: JSON.stringify({ input: 'pay' }) }),
    at(`/runs/${encodeURIComponent(id)}/cancel`),
    at(`/deliveries/${encodeURIComponent(id)}/replay`),
    at('/admin/reload'),
    at('/rpc', { headers: { 'x-mcp-server': 'bank' }, body: call }),
    at('/mcp', { body: call }),
    at('/mcp/bank', { body: call }),
  ];
  const { answer } = await run('try');
  const statuses = answer.split('\n').map((line: string) => JSON.parse(line).status);
  expect(statuses).toEqual(attempts.map(() => 401));

  const { json: asked } = await ask(`${gateway.url}/approvals/${approvals[0].id}`);
  expect([asked.state, asked.decided_by]).toEqual(['pending', null]);
  expect(readFileSync(paid, 'utf8')).toBe('');

  const approve = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  expect((await ask(`${gateway.url}/approvals/${approvals[0].id}/approve`, approve)).status).toBe(200);
  await expectRunState(gateway, id, 'done');
  expect(readFileSync(paid, 'utf8')).toBe('{"to":"eve"}\n');
});
