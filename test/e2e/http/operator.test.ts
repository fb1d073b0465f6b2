// Gateways without `api_key`: permissions of anonymous senders per route, and access by the operator token.

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { automationRoutes } from '../../../src/http/api/automation-routes.ts';
import { fixedRoutes, namedRoutes } from '../../../src/http/routes.ts';
import {
  agent,
  eventually,
  httpAgent,
  startAutomation,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import {
  ask,
  BOTH,
  call,
  fixture,
  initialize,
  JSON_TYPE,
  message,
} from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { anonymously, operatorOf, operatorTokenIn } from '../../fixtures/gateway/operator.ts';

const paid = join(temporaryFolder(), 'paid');
writeFileSync(paid, '');
const servers = {
  curious: { command: process.execPath, args: [fixture('curious.mjs')], env: { PAID: paid } },
};
const desk = httpAgent('desk', 'http://127.0.0.1:1/');
const guarded = agent('clerk', { model: 'ollama:m', policy: { deny: ['pay'] } });
const wrongToken = { authorization: `Bearer agop_${'a'.repeat(43)}` };

let gateway: GatewayProcess;
const at = (path: string) => gateway.url + path;
const post = (path: string, headers: Readonly<Record<string, string>>, body = '') =>
  ask(at(path), { method: 'POST', headers: { 'content-type': JSON_TYPE, accept: BOTH, ...headers }, body });
const reload = async () => expect((await post('/admin/reload', operatorOf(gateway.url))).status).toBe(200);

beforeAll(async () => {
  gateway = await startAutomation({
    servers,
    resources: [desk],
    settings: { inspector: { commands: true }, log_level: 'debug' },
  });
});

afterAll(() => gateway.stop());

const routes = [
  ...[...fixedRoutes, ...namedRoutes].flatMap(([shape, { methods, access, gate }]) =>
    [...(methods as ReadonlyMap<string, unknown>).keys()].map((method) => ({
      shape,
      method,
      access,
      isOpen: gate !== undefined,
    })),
  ),
  ...[...automationRoutes].map(([shape, { method }]) => ({
    shape,
    method,
    access: undefined,
    isOpen: false,
  })),
];
const needsOperator = routes.filter(
  ({ method, access, isOpen }) => method !== 'GET' && method !== 'HEAD' && access === undefined && !isOpen,
);
const pathOf = (shape: string) => shape.replace('*', shape.startsWith('/servers') ? 'curious' : 'unknown');

test('only the MCP routes and those that start or stop servers accept requests without operator credentials', () => {
  const ofClients = routes.filter(({ access }) => access === 'client').map(({ shape }) => shape);
  expect([...new Set(ofClients)]).toEqual(['/mcp', '/rpc', '/mcp/*', '/servers/*/start', '/servers/*/stop']);
  expect(needsOperator.length).toBeGreaterThan(12);
});

describe.each(needsOperator)('$method $shape', ({ method, shape }) => {
  const path = pathOf(shape);

  test('is refused to an anonymous sender, and with a wrong token, with the remedy in the error', async () => {
    for (const headers of [anonymously, wrongToken, { 'x-api-key': 'x' }]) {
      const { status, json, headers: answered } = await ask(at(path), { method, headers });
      expect([status, json.error]).toEqual([401, 'Unauthorized']);
      expect(json.message).toMatch(/operator-token in state_dir.*set api_key/);
      expect(answered['www-authenticate']).toBe('Bearer');
    }
  });

  test('is open to the operator token, in either header', async () => {
    const { authorization } = operatorOf(gateway.url);
    const key = { 'x-api-key': authorization.replace('Bearer ', '') };
    for (const headers of [{ authorization }, key])
      expect((await ask(at(path), { method, headers })).status).not.toBe(401);
  });
});

test('every route that only reads is open to anonymous senders', async () => {
  for (const { shape, method, access } of routes)
    if ((method === 'GET' || method === 'HEAD') && access === undefined && shape !== '/logs') {
      const answer = await ask(at(pathOf(shape)), { method, headers: anonymously });
      expect([shape, [401, 403].includes(answer.status)]).toEqual([shape, false]);
    }
});

test('unknown methods and unknown paths get the same response for an anonymous sender as for the operator', async () => {
  expect((await post('/servers', anonymously)).status).toBe(405);
  expect((await post('/triggers', anonymously)).status).toBe(405);
  expect((await ask(at('/agents/desk/runs'), { headers: anonymously })).status).toBe(405);
  expect((await post('/nothing', anonymously)).status).toBe(404);
});

describe('the inspector', () => {
  const commands = [
    ...['api/servers/curious/start', 'api/servers/curious/stop', 'servers/curious/tools/pay/call', 'links'],
    ...['api/triggers/x/pause', 'api/runs/x/cancel', 'api/deliveries/x/replay', 'api/approvals/x/approve'],
    ...['api/admin/reload', 'nothing'],
  ];

  test.each(commands)('refuses POST /inspector/%s to an anonymous sender', async (path) => {
    for (const headers of [anonymously, wrongToken, { cookie: 'actor_gateway_inspector=9999999999.x' }]) {
      const { status, json } = await post(`/inspector/${path}`, headers, '{}');
      expect([status, json.message]).toEqual([401, expect.stringContaining('operator-token in state_dir')]);
    }
    expect((await post(`/inspector/${path}`, operatorOf(gateway.url), '{}')).status).not.toBe(401);
  });

  test('is readable by all clients, and issues no cookie to readers', async () => {
    for (const path of [
      '/inspector',
      '/inspector/view/curious/log',
      '/inspector/connect',
      '/inspector/api/runs',
    ]) {
      const { status, headers } = await ask(at(path), { headers: anonymously });
      expect([path, status, headers['set-cookie']]).toEqual([path, 200, undefined]);
    }
    expect((await ask(at('/inspector'), { headers: anonymously })).text).toContain('data-access="watch"');
  });

  test('issues one cookie per entry link, and the cookie permits commands', async () => {
    const { json } = await post('/inspector/links', operatorOf(gateway.url));
    expect(json).toMatchObject({
      path: expect.stringMatching(/^\/inspector\/enter\?code=[\w-]{32}$/),
      expires_in_seconds: 300,
    });
    expect(
      (await ask(at(json.path), { method: 'HEAD', headers: anonymously })).headers['set-cookie'],
    ).toBeUndefined();
    const entered = await ask(at(json.path), { headers: anonymously });
    expect([entered.status, entered.headers.location]).toEqual([303, '../inspector']);
    const [cookie = ''] = entered.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const secondResponse = await ask(at(json.path), { headers: anonymously });
    expect([secondResponse.status, secondResponse.headers['set-cookie']]).toEqual([303, undefined]);
    const headers = { cookie: cookie.split(';', 1)[0] ?? '' };
    expect((await ask(at('/inspector'), { headers: headers })).text).not.toContain('data-access');
    expect((await post('/inspector/api/servers/curious/stop', headers)).status).toBe(200);
    // The cookie grants access to the inspector only, and pages of foreign origins cannot use it.
    expect((await post('/admin/reload', { ...anonymously, ...headers })).status).toBe(401);
    const foreign = { ...headers, origin: 'http://127.0.0.1:9' };
    expect((await post('/inspector/api/servers/curious/stop', foreign)).status).toBe(403);
  });
});

describe('clients of MCP', () => {
  const pay = (headers: Readonly<Record<string, string>>) =>
    post('/rpc', { 'x-mcp-server': 'curious', ...headers }, call('pay', { to: 'mallory' }));
  const addresses = [
    '/mcp',
    '/mcp/curious',
    '/mcp/@none',
    '/rpc',
    '/servers/curious/start',
    '/servers/curious/stop',
  ];

  test('may be anonymous as long as no loaded agent has a policy that restricts tool calls', async () => {
    const session = await initialize(at('/mcp/curious'));
    expect((await pay(anonymously)).status).toBe(200);
    const before = readFileSync(paid, 'utf8');

    writeResources(gateway.folder, [desk, guarded]);
    await reload();
    const ping = message('ping');
    for (const path of addresses) {
      const { status, json } = await post(path, { 'x-mcp-server': 'curious', ...anonymously }, ping);
      const errorText = path.startsWith('/mcp') ? json.error.message : json.message;
      expect([path, status]).toEqual([path, 401]);
      expect(errorText).toMatch(
        /^agent clerk guards calls \(policy\.deny\).*operator-token in state_dir.*set api_key/,
      );
    }
    for (const method of ['GET', 'DELETE'])
      expect(
        (await ask(at('/mcp/curious'), { method, headers: { ...session, ...anonymously } })).status,
      ).toBe(401);
    expect((await post('/mcp/curious', { ...session, ...anonymously }, call('pay'))).status).toBe(401);
    expect((await pay(wrongToken)).status).toBe(401);
    expect(readFileSync(paid, 'utf8')).toBe(before);
    expect((await pay(operatorOf(gateway.url))).status).toBe(200);
    expect(await initialize(at('/mcp'), '2025-11-25', operatorOf(gateway.url))).toBeTruthy();

    const warned = () =>
      gateway
        .logs()
        .filter(({ level, msg }) => level === 'warn' && /api_key is not set, so approvals/.test(msg));
    expect(warned()).toEqual([
      expect.objectContaining({ msg: expect.stringMatching(/clerk\.yaml:\d+:\d+: /) }),
    ]);
    writeResources(gateway.folder, [desk]);
    await reload();
    expect((await pay(anonymously)).status).toBe(200);
  });
});

test('an anonymous MCP request is refused if a loaded policy starts to restrict calls before its body is complete', async () => {
  const body = call('pay', { to: 'mallory' });
  const before = readFileSync(paid, 'utf8');
  const socket = connect({ port: gateway.port, host: '127.0.0.1' });
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  const head = [
    'POST /rpc HTTP/1.1',
    'host: localhost',
    'x-mcp-server: curious',
    `content-type: ${JSON_TYPE}`,
  ];
  socket.write(`${[...head, `content-length: ${body.length}`].join('\r\n')}\r\n\r\n${body.slice(0, 20)}`);
  // A response on another connection shows that the gateway has read the request head, which was sent before.
  await ask(at('/health'));
  writeResources(gateway.folder, [desk, guarded]);
  await reload();
  socket.write(body.slice(20));
  await eventually(async () => expect(answer).toMatch(/^HTTP\/1.1 401 [\s\S]*guards calls/));
  socket.destroy();
  expect(readFileSync(paid, 'utf8')).toBe(before);
  writeResources(gateway.folder, [desk]);
  await reload();
});

describe('a child process', () => {
  const tool = async (name: string, args: object = {}) => {
    const { json } = await post('/rpc', { 'x-mcp-server': 'curious', ...anonymously }, call(name, args));
    return JSON.parse(json.result.content[0].text);
  };

  test('inherits no variable and no descriptor with the token', async () => {
    const token = operatorTokenIn(join(gateway.folder, '.gateway'));
    const inspection = await tool('look');
    expect(inspection.descriptors.length).toBeGreaterThan(2);
    expect(JSON.stringify(inspection)).not.toContain(token);
    expect(JSON.stringify(inspection)).not.toContain('operator-token');
  });

  test('cannot use operator routes by HTTP requests to the gateway, and gets no cookie', async () => {
    for (const path of ['/approvals/x/approve', '/agents/desk/runs', '/admin/reload', '/inspector/links'])
      expect(await tool('web', { url: at(path), method: 'POST', body: '{}' })).toMatchObject({ status: 401 });
    expect(await tool('web', { url: at('/inspector') })).toMatchObject({ status: 200, cookie: null });
  });
});

test("a child process with inherit_env: true does not receive the gateway's own key", async () => {
  const { curious } = servers;
  const inheriting = {
    all: { ...curious, inherit_env: true },
    named: { ...curious, inherit_env: ['OWN_KEY'] },
  };
  const api_key = 'the key of the test';
  const keyed = await startGateway({
    servers: inheriting,
    settings: { api_key: `\${OWN_KEY}` },
    env: { OWN_KEY: api_key, BESIDE: 'inherited' },
  });
  const look = async (server: string) => {
    const headers = { 'content-type': JSON_TYPE, accept: BOTH, 'x-mcp-server': server, 'x-api-key': api_key };
    const { json } = await ask(`${keyed.url}/rpc`, { method: 'POST', headers, body: call('look') });
    return JSON.parse(json.result.content[0].text).environ as string[];
  };
  const environ = await look('all');
  expect(environ).toContain('BESIDE=inherited');
  expect(environ.join()).not.toContain(api_key);
  expect(await look('named')).toContain(`OWN_KEY=${api_key}`);
  await keyed.stop();
});

test('the operator token is in no log line, at any level', () => {
  const token = operatorTokenIn(join(gateway.folder, '.gateway'));
  expect(gateway.text().length).toBeGreaterThan(1_000);
  expect(gateway.text()).not.toContain(token);
  expect(gateway.text()).not.toContain('/inspector/enter');
});

test('the operator token survives a restart, and is replaced if its file was removed', async () => {
  const file = (folder: string) => join(folder, '.gateway', 'operator-token');
  const first = await startGateway({ servers });
  const token = operatorOf(first.url);
  expect(statSync(file(first.folder)).mode & 0o777).toBe(0o600);
  await first.stop();
  const second = await startGateway({ servers, folder: first.folder });
  expect(operatorOf(second.url)).toEqual(token);
  await second.stop();
  rmSync(file(first.folder));
  const third = await startGateway({ servers, folder: first.folder });
  const answer = await ask(`${third.url}/admin/reload`, { method: 'POST', headers: token });
  expect(answer.status).toBe(401);
  expect(
    (await ask(`${third.url}/admin/reload`, { method: 'POST', headers: operatorOf(third.url) })).status,
  ).toBe(200);
  await third.stop();
});

test('a gateway with an API key creates no operator token, and refuses an old operator token', async () => {
  const first = await startGateway({ servers });
  const token = operatorOf(first.url);
  await first.stop();
  const keyed = await startGateway({
    servers,
    folder: first.folder,
    settings: { api_key: 'the key of the test' },
  });
  for (const path of ['/servers', '/inspector/connect'])
    expect([403, 401]).toContain((await ask(keyed.url + path, { headers: token })).status);
  expect((await ask(`${keyed.url}/admin/reload`, { method: 'POST', headers: token })).status).toBe(403);
  await keyed.stop();
});
