// The audit with the built program: one line per call and operation, for each kind of client.

import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answersSoFar, MODEL, startModelGateway } from '../../fixtures/agents/model-gateway.ts';
import { agent, flow, writeResources } from '../../fixtures/automation/automation.ts';
import {
  apiServer,
  ask,
  call,
  eventually,
  initialize,
  message,
  post,
  rpc,
} from '../../fixtures/clients/api-client.ts';
import { listenAsk, modern, modernStream, toolCall } from '../../fixtures/clients/modern-client.ts';
import { auditLine, auditLines, verifyAudit } from '../../fixtures/gateway/audit-lines.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { operatorOf } from '../../fixtures/gateway/operator.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { configured, StdioWrapper } from '../../fixtures/gateway/stdio-gateway.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const KEY = 'the-key-of-the-audit-tests-81';
const SECRET = 'sk-of-the-server-5521';
const audit = { path: './audit.jsonl' };

const keyed = { authorization: `Bearer ${KEY}` };
const postJson = (url: string, body: object = {}, headers: Readonly<Record<string, string>> = {}) =>
  ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

let model: ModelServer;
let gateway: GatewayProcess;

beforeAll(async () => {
  model = (await ModelServer.start()).answerWith((request) =>
    answersSoFar(request) > 0 ? { text: 'done' } : { calls: [{ name: 'echo', input: { a: 1 } }] },
  );
  gateway = await startModelGateway(model, {
    servers: {
      api: apiServer({ env: { TOKEN: SECRET } }),
      slow: fault('silent', { request_timeout_seconds: 0.3 }),
    },
    isWatched: true,
    resources: [
      agent('clerk', { model: MODEL, mcp_servers: ['api'] }),
      agent('careful', { model: MODEL, mcp_servers: ['api'], policy: { ask: ['echo'] } }),
      flow('sheet', {
        nodes: [{ id: 'one', type: 'Tool', config: { server: 'api', tool: 'echo', arguments: { a: 1 } } }],
      }),
    ],
    settings: {
      api_key: KEY,
      audit: { ...audit, arguments: true },
      inspector: { enabled: true, commands: true },
    },
  });
});

afterAll(async () => {
  await gateway.stop();
});

const lineOf = (members: Parameters<typeof auditLine>[1]) => auditLine(gateway, members);

describe('calls', () => {
  test('at each address have a line with sender, target, outcome and status', async () => {
    const { url } = gateway;
    const traceparent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
    const headers = { ...keyed, 'x-request-id': 'request-1', traceparent };
    await rpc(url, 'api', call('echo', { a: 1, password: 'hunter2', key: SECRET }), headers);
    const line = await lineOf({ request_id: 'request-1' });
    expect(line).toMatchObject({
      ...{ principal: 'key:api_key', action: 'tools/call', target: 'api/echo', outcome: 'ok', status: 200 },
      ...{ tenant: null, role: 'admin', trace_id: 'a1'.repeat(16) },
      arguments: { a: 1, password: '[redacted]', key: '[redacted]' },
    });
    expect(line.ms).toBeGreaterThan(0);
    const merged = await initialize(`${url}/mcp`, '2025-11-25', keyed);
    await lineOf({ action: 'initialize', target: null, status: 200 });
    await post(`${url}/mcp`, call('api__echo', {}), { ...keyed, ...merged, 'x-request-id': 'merged' });
    expect(await lineOf({ request_id: 'merged' })).toMatchObject({ target: 'api/echo', status: 200 });
    await modern(`${url}/mcp/api`, toolCall('echo', {}, { headers: { ...keyed, 'x-request-id': 'modern' } }));
    expect(await lineOf({ request_id: 'modern' })).toMatchObject({ target: 'api/echo', status: 200 });
  });

  test.each([
    ['prompts/get', { name: 'p1' }, 'api/p1'],
    ['resources/read', { uri: 'file:///a' }, 'api/file:///a'],
    ['resources/subscribe', { uri: 'file:///a' }, 'api/file:///a'],
    [
      'completion/complete',
      { ref: { type: 'ref/prompt', name: 'p1' }, argument: { name: 'a', value: '' } },
      'api',
    ],
    ['tasks/get', { taskId: 't1' }, 'api/t1'],
    ['tools/list', {}, 'api'],
  ])('with the method %s have a line', async (method, params, target) => {
    const session = await initialize(`${gateway.url}/mcp/api`, '2025-11-25', keyed);
    const headers = { ...keyed, ...session, 'x-request-id': method.replace('/', '-') };
    await post(`${gateway.url}/mcp/api`, message(method, params), headers);
    expect(await lineOf({ action: method, request_id: method.replace('/', '-') })).toMatchObject({ target });
  });

  test('that fail have the outcome and the status of the response', async () => {
    const { url } = gateway;
    const failed = await rpc(url, 'slow', call('echo'), { ...keyed, 'x-request-id': 'late' });
    expect(failed.status).toBe(504);
    expect(await lineOf({ request_id: 'late' })).toMatchObject({ outcome: 'timeout', status: 504 });
    const unknown = await post(`${url}/mcp/nobody`, call('echo'), { ...keyed, 'x-request-id': 'unknown' });
    expect(unknown.status).toBe(404);
    expect(await lineOf({ request_id: 'unknown' })).toMatchObject({
      ...{ action: 'message', target: 'nobody', outcome: 'refused', status: 404 },
    });
    await rpc(url, 'nobody', call('echo'), { ...keyed, 'x-request-id': 'unknown-too' });
    expect(await lineOf({ request_id: 'unknown-too' })).toMatchObject({ target: 'nobody', status: 404 });
  });

  test('for notifications have a line when the stream begins', async () => {
    const ask = listenAsk({ toolsListChanged: true }, { headers: { ...keyed, 'x-request-id': 'listen' } });
    const stream = modernStream(`${gateway.url}/mcp/api`, ask);
    expect(await lineOf({ request_id: 'listen' })).toMatchObject({
      action: 'subscriptions/listen',
      outcome: 'ok',
    });
    stream.drop();
  });

  test('are on disk within 700 ms of the response', async () => {
    await rpc(gateway.url, 'api', call('echo'), { ...keyed, 'x-request-id': 'soon' });
    await sleep(700);
    expect(auditLines(gateway).some(({ request_id }) => request_id === 'soon')).toBe(true);
  });
});

test('agents and flows are senders of their calls, and the runs are operations', async () => {
  const { url } = gateway;
  const { json } = await postJson(`${url}/agents/clerk/runs`, { input: 'go', wait_seconds: 20 }, keyed);
  expect(json.state).toBe('done');
  expect(await lineOf({ principal: 'agent:clerk', action: 'tools/call' })).toMatchObject({
    ...{ target: 'api/echo', outcome: 'ok', status: null },
  });
  expect(await lineOf({ action: 'agents/runs', target: 'clerk' })).toMatchObject({
    ...{ principal: 'key:api_key', outcome: 'ok', status: 200 },
  });
  await postJson(`${url}/flows/sheet/runs`, { input: 'go', wait_seconds: 20 }, keyed);
  await lineOf({ principal: 'flow:sheet', action: 'tools/call', target: 'api/echo' });
});

test('operations have a line with their status, also refused ones', async () => {
  const { url } = gateway;
  for (const [path, action, status] of [
    ['/servers/api/stop', 'servers/stop', 200],
    ['/servers/api/start', 'servers/start', 200],
    ['/servers/none/start', 'servers/start', 404],
    ['/admin/reload', 'admin/reload', 200],
    ['/triggers/none/pause', 'triggers/pause', 404],
    ['/triggers/none/resume', 'triggers/resume', 404],
    ['/triggers/none/run', 'triggers/run', 404],
    ['/deliveries/none/replay', 'deliveries/replay', 404],
    ['/deliveries/none/discard', 'deliveries/discard', 404],
    ['/runs/none/cancel', 'runs/cancel', 404],
    ['/approvals/none/approve', 'approvals/approve', 404],
  ] as const) {
    const id = `op-${action}-${status}`.replace('/', '-');
    expect((await postJson(url + path, {}, { ...keyed, 'x-request-id': id })).status, path).toBe(status);
    expect(await lineOf({ request_id: id })).toMatchObject({
      ...{ action, status, principal: 'key:api_key', outcome: status === 200 ? 'ok' : 'refused' },
      target: path === '/admin/reload' ? null : path.split('/')[2],
    });
  }
  // The same operation from the inspector's page.
  const origin = new URL(url).origin;
  await postJson(`${url}/inspector/api/servers/api/stop`, {}, { ...keyed, origin, 'x-request-id': 'page' });
  expect(await lineOf({ request_id: 'page' })).toMatchObject({
    action: 'servers/stop',
    target: 'api',
    status: 200,
  });
});

test('a decision and its run have lines with the same trace', async () => {
  const { url } = gateway;
  const { json } = await postJson(`${url}/agents/careful/runs`, { input: 'go', wait_seconds: 20 }, keyed);
  const { approvals } = (await ask(`${url}/approvals?state=pending`, { headers: keyed })).json;
  const { id } = approvals[0];
  await postJson(`${url}/approvals/${id}/approve`, {}, keyed);
  expect(await lineOf({ action: 'approvals/approve', target: id })).toMatchObject({
    outcome: 'ok',
    status: 200,
  });
  await eventually('the end', async () => {
    const { state } = (await ask(`${url}/runs/${encodeURIComponent(json.id)}`, { headers: keyed })).json;
    return state === 'done';
  });
  await lineOf({ principal: 'agent:careful', action: 'tools/call', target: 'api/echo' });
});

test('reloads by a signal and by changed files have lines', async () => {
  process.kill(gateway.pid, 'SIGHUP');
  await lineOf({ principal: 'gateway', action: 'admin/reload', target: 'SIGHUP', outcome: 'ok' });
  writeResources(gateway.folder, [agent('late', { model: MODEL })]);
  await lineOf({ principal: 'gateway', action: 'admin/reload', target: 'watch', outcome: 'ok' });
});

test('refused sign-ins have at most ten lines per second and network, and no key', async () => {
  const wrong = { authorization: 'Bearer wrong-key-of-a-stranger' };
  await Promise.all(Array.from({ length: 40 }, () => ask(`${gateway.url}/servers`, { headers: wrong })));
  await postJson(`${gateway.url}/servers/api/stop`, {}, { authorization: 'Bearer none' });
  const rest = await eventually('the count', () =>
    auditLines(gateway).find(({ action, count }) => action === 'sign-in' && (count ?? 0) > 0),
  );
  expect(rest).toMatchObject({ principal: 'anonymous', outcome: 'refused' });
  const lines = auditLines(gateway).filter(({ action }) => action === 'sign-in');
  expect(lines.length).toBeLessThan(33);
  expect(lines[0]).toMatchObject({ target: '127.0.0.1', status: 403 });
  expect(lines.reduce((sum, { count = 1 }) => sum + count, 0)).toBeGreaterThanOrEqual(40);
});

test('GET /audit and the command list the lines with filters', async () => {
  const { url } = gateway;
  const listed = async (query: string) => (await ask(`${url}/audit?${query}`, { headers: keyed })).json;
  const { lines, next_before } = await listed('action=tools/call&target=api/echo&outcome=ok&limit=1');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ action: 'tools/call', target: 'api/echo' });
  const next = await listed(`action=tools/call&target=api/echo&outcome=ok&limit=1&before=${next_before}`);
  expect(next.lines[0].chain).not.toBe(lines[0].chain);
  expect((await listed('since=1h&until=1h')).lines).toEqual([]);
  expect((await ask(`${url}/audit?limit=0`, { headers: keyed })).status).toBe(400);
  expect((await ask(`${url}/audit`)).status).toBe(401);
  const page = await ask(`${url}/inspector/api/audit?limit=1`, { headers: keyed });
  expect([page.status, page.json.lines.length]).toEqual([200, 1]);
  const keyFile = join(gateway.folder, 'key');
  writeFileSync(keyFile, KEY);
  const args = ['audit', '--url', url, '--api-key-file', keyFile];
  const { stdout, code } = await runMain([...args, '--action', 'servers/stop', '--limit', '3']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^TIME +PRINCIPAL +ACTION +TARGET +OUTCOME/);
  expect(stdout).toContain('servers/stop');
  expect(JSON.parse((await runMain([...args, '--json', '--limit', '2'])).stdout).lines).toHaveLength(2);
});

test('the file is for its owner, contains no secret, and is intact', async () => {
  const path = join(gateway.folder, 'audit.jsonl');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const text = JSON.stringify(auditLines(gateway));
  for (const secret of [KEY, SECRET, 'hunter2', 'wrong-key']) expect(text).not.toContain(secret);
  const { code, stdout } = await verifyAudit(gateway);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/: \d+ lines in 1 file, unchanged\n$/)]);
  expect(JSON.parse((await verifyAudit(gateway, '--json')).stdout)).toMatchObject({
    ok: true,
    chains: [{ path, problem: null }],
  });
});

test('stdio clients have files of their own next to those of the gateway', async () => {
  const setup = { servers: { api: apiServer() }, settings: { audit } };
  const main = await startGateway(setup);
  const args = configured({ ...setup, folder: main.folder });
  const [one, two] = [new StdioWrapper(args), new StdioWrapper(args)];
  for (const [client, slot] of [
    [one, 'audit.stdio-1.jsonl'],
    [two, 'audit.stdio-2.jsonl'],
  ] as const) {
    client.child.stdin.write(
      `${message('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } })}\n`,
    );
    client.child.stdin.write(`${call('api__echo', {}, 2)}\n`);
    await eventually(
      'a file',
      () => [1, 2].some((n) => auditLines(main, `audit.stdio-${n}.jsonl`).length > 0) && slot,
    );
  }
  for (const n of [1, 2])
    expect(await auditLine(main, { action: 'tools/call' }, `audit.stdio-${n}.jsonl`)).toMatchObject({
      principal: 'stdio',
      target: 'api/echo',
      status: null,
    });
  for (const client of [one, two]) {
    client.child.stdin.end();
    await client.exited;
  }
  await postJson(`${main.url}/servers/api/stop`, {}, operatorOf(main.url));
  expect(await auditLine(main, { action: 'servers/stop' })).toMatchObject({ principal: 'operator:token' });
  for (const path of ['/audit', '/inspector/api/audit'])
    expect((await ask(main.url + path)).status, path).toBe(401);
  await main.stop();
  const actions = auditLines(main).map(({ action }) => action);
  expect([actions[0], actions[1], actions.at(-1)]).toEqual(['audit/file', 'gateway/start', 'gateway/stop']);
  const { code, stdout } = await verifyAudit(main, '--json');
  expect([code, JSON.parse(stdout).chains.length]).toEqual([0, 3]);
}, 60_000);
