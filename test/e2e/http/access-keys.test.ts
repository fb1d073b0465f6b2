// Access keys and roles at the built gateway: creation, rotation, expiry and revocation, also with open
// streams. Only the response that creates a key contains its text.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import {
  ADMIN_KEY,
  bearer,
  createKey,
  listKeys,
  postKeys,
  revokeKey,
  rotateKey,
} from '../../fixtures/clients/access-keys.ts';
import { ask, call, EventReader, initialize, message, post, rpc } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const WITHIN_MS = 1_000;
const INVALID = '{"error":"Forbidden","message":"Invalid API key"}';
const needs = (role: string) => `{"error":"Forbidden","message":"this needs the role ${role}"}`;
const needsRpc = (role: string) =>
  `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"this needs the role ${role}"}}`;

/** Returns the text of all files below the folder. */
const textBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');

describe.each(httpEnginesInTurn)('access keys on %s', (http) => {
  let gateway: GatewayProcess;
  let url: string;
  beforeAll(async () => {
    gateway = await startGateway({
      http,
      settings: { api_key: ADMIN_KEY },
      servers: { echo: fault('echo') },
    });
    url = gateway.url;
  });

  const get = (path: string, headers: Readonly<Record<string, string>> = {}) => ask(url + path, { headers });
  const answerTo = async (method: string, path: string, headers: Readonly<Record<string, string>>) => {
    const { status, text } = await ask(url + path, { method, headers });
    return [status, text];
  };

  test('wrong, unknown, mistyped, revoked and expired keys get the answer of a wrong API key', async () => {
    const [short, revoked] = [
      await createKey(url, 'short', 'user', '1s'),
      await createKey(url, 'gone', 'user'),
    ];
    expect((await get('/servers', short.headers)).status).toBe(200);
    expect((await get('/servers', { 'x-api-key': revoked.key })).status).toBe(200);
    expect(await revokeKey(url, revoked.id)).toBe(204);
    expect(await revokeKey(url, revoked.id)).toBe(204);
    expect(await revokeKey(url, 'nothing')).toBe(404);
    await eventually(async () => expect((await get('/servers', short.headers)).status).toBe(403));
    const other = await createKey(url, 'other', 'user');
    const wrong = [
      ...['wrong', short.key, revoked.key, `${other.key}x`, other.key.slice(0, -1)],
      ...[other.key.replace(other.id, 'aaaaaaaaaa'), `${other.key.slice(0, -7)}AAAAAAA`],
    ];
    for (const key of wrong) {
      const { status, text, headers } = await get('/servers', bearer(key));
      expect([status, text], key).toEqual([403, INVALID]);
      expect(headers['www-authenticate']).toBeUndefined();
    }
    expect(await answerTo('GET', '/servers', {})).toEqual([
      401,
      '{"error":"Unauthorized","message":"API key required"}',
    ]);
    expect((await get('/health')).status).toBe(200);
    expect((await get(`/servers?api_key=${other.key}`)).status).toBe(401);
    expect((await get('/servers', bearer(ADMIN_KEY))).status).toBe(200);
  });

  test('each role may do what the role table permits', async () => {
    const [viewer, user, operator, admin] = await Promise.all(
      (['viewer', 'user', 'operator', 'admin'] as const).map((role) => createKey(url, `a-${role}`, role)),
    );
    if (!viewer || !user || !operator || !admin) throw new Error('four keys were to be created');
    const session = await initialize(`${url}/mcp`, '2025-11-25', viewer.headers);
    const toMcp = (text: string, headers: Readonly<Record<string, string>>) =>
      post(`${url}/mcp`, text, { ...session, ...headers });
    const listed = await toMcp(message('tools/list'), viewer.headers);
    expect(listed.json.result.tools.map(({ name }: { name: string }) => name)).toContain('echo__echo');
    const refused = await toMcp(call('echo__echo', { text: 'hi' }), viewer.headers);
    expect([refused.status, refused.text]).toEqual([403, needsRpc('user')]);
    // Another principal does not see the session.
    expect((await toMcp(message('tools/list'), user.headers)).status).toBe(404);
    const atRpc = async ({ headers }: typeof user) => {
      const { status, text } = await rpc(url, 'echo', call('echo', { text: 'hi' }), headers);
      return [status, text];
    };
    expect(await atRpc(viewer)).toEqual([403, needs('user')]);
    expect((await atRpc(user))[0]).toBe(200);
    for (const path of ['/servers', '/servers/echo', '/stats', '/logs', '/history/calls', '/whoami'])
      expect((await get(path, viewer.headers)).status, path).toBe(200);
    expect((await ask(`${url}/nothing`, { method: 'POST', headers: viewer.headers })).status).toBe(404);
    expect(await answerTo('POST', '/servers/echo/stop', user.headers)).toEqual([403, needs('operator')]);
    expect((await answerTo('POST', '/servers/echo/stop', operator.headers))[0]).toBe(200);
    for (const [method, path] of [
      ['GET', '/nodes'],
      ['POST', '/admin/reload'],
      ['GET', '/admin/keys'],
      ['POST', '/admin/keys'],
      ['POST', '/admin/keys/abc/rotate'],
      ['DELETE', '/admin/keys/abc'],
    ] as const)
      expect(await answerTo(method, path, operator.headers), path).toEqual([403, needs('admin')]);
    expect((await get('/nodes', admin.headers)).status).toBe(200);
    expect((await get('/whoami', operator.headers)).text).toBe(
      '{"principal":"key:a-operator","tenant":null,"role":"operator"}',
    );
    expect((await get('/whoami', bearer(ADMIN_KEY))).json).toEqual({
      principal: 'key:api_key',
      tenant: null,
      role: 'admin',
    });
  });

  test('requests about keys are checked, and a name belongs to one valid key', async () => {
    const status = async (body: object, headers?: Readonly<Record<string, string>>) =>
      (await postKeys(url, body, headers)).status;
    const rejected = [
      ...[{}, { name: 'x' }, { name: 'x', role: 'root' }, { name: '', role: 'user' }],
      ...[
        { name: 'x'.repeat(65), role: 'user' },
        { name: 'a b', role: 'user' },
        { name: 7, role: 'user' },
      ],
      ...[
        { name: 'api_key', role: 'user' },
        { name: 'x', role: 'user', more: 1 },
      ],
      ...['soon', '1', '1y', '-1s', '99999d', 5].map((expires_in) => ({
        name: 'x',
        role: 'user',
        expires_in,
      })),
    ];
    for (const body of rejected) expect(await status(body), JSON.stringify(body)).toBe(400);
    expect(await status({ name: 'x', role: 'user', tenant: 'team-a' })).toBe(404);
    expect(await status({ name: 'large', role: 'user', tenant: 'x'.repeat(20_000) })).toBe(413);
    const boss = await createKey(url, 'boss', 'admin', '24h');
    expect(await status({ name: 'boss', role: 'user' })).toBe(409);
    const answer = await postKeys(url, { name: 'boss2', role: 'viewer', expires_in: '0s' }, boss.headers);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.json).toMatchObject({ role: 'viewer', tenant: null, created_by: 'key:boss' });
    expect(await answerTo('GET', '/servers', bearer(answer.json.key))).toEqual([403, INVALID]);
    expect(await status({ name: 'boss2', role: 'user' })).toBe(201);
    expect((await postKeys(url, undefined, undefined, `/${answer.json.id}/rotate`)).status).toBe(409);
    expect((await postKeys(url, undefined, undefined, '/unknown/rotate')).status).toBe(404);
  });

  test('a rotated key keeps its session, and the old key works for the overlap', async () => {
    const old = await createKey(url, 'rotated', 'user', '90d');
    const session = await initialize(`${url}/mcp`, '2025-11-25', old.headers);
    const list = async (headers: Readonly<Record<string, string>>) =>
      (await post(`${url}/mcp`, message('tools/list'), { ...session, ...headers })).status;
    const next = await rotateKey(url, old.id, '1s');
    expect([await list(next.headers), await list(old.headers)]).toEqual([200, 200]);
    await eventually(async () => expect(await list(old.headers)).toBe(403));
    expect(await list(next.headers)).toBe(200);
    const last = await rotateKey(url, next.id);
    expect([await list(next.headers), await list(last.headers)]).toEqual([403, 200]);
    const records = (await listKeys(url)).filter(({ name }: { name: string }) => name === 'rotated');
    expect(records.map(({ id }: { id: string }) => id)).toEqual([old.id, next.id, last.id]);
    expect(Date.parse(records[2].expires_at) - Date.parse(records[2].created_at)).toBe(90 * 86_400_000);
    expect(records[0].last_used_at).not.toBeNull();
  });

  test('a revoked key ends its streams, and its call in flight is answered', async () => {
    const { id, headers } = await createKey(url, 'watcher', 'user');
    const session = await initialize(`${url}/mcp/echo`, '2025-11-25', headers);
    const expiring = await createKey(url, 'expiring', 'viewer', '2s');
    const streams = [
      new EventReader(`${url}/mcp/echo`, { headers: { ...headers, ...session } }),
      new EventReader(`${url}/logs`, { headers: { ...headers, accept: 'text/event-stream' } }),
      new EventReader(`${url}/logs`, { headers: { ...expiring.headers, accept: 'text/event-stream' } }),
    ];
    for (const stream of streams) await stream.opened();
    const pending = rpc(url, 'echo', call('wait', { ms: 1_500 }), headers);
    await elapse(100);
    const startedAt = performance.now();
    expect(await revokeKey(url, id)).toBe(204);
    await Promise.all(streams.slice(0, 2).map((stream) => stream.ended()));
    expect(performance.now() - startedAt).toBeLessThan(WITHIN_MS);
    expect((await get('/servers', headers)).text).toBe(INVALID);
    expect(streams[2]?.isOver).toBe(false);
    expect((await pending).text).toContain('waited 1500');
    await streams[2]?.ended();
  });

  test('the text of a key is neither in the state folder, nor in logs, lists and errors', async () => {
    const { key, id } = await createKey(url, 'hidden', 'viewer');
    const headers = bearer(key);
    await get(`/${key}`, headers);
    await post(`${url}/mcp`, message('initialize', { protocolVersion: key }), headers);
    expect((await rpc(url, key, call('echo'), headers)).text).not.toContain(key);
    expect((await get(`/servers/${key}`, headers)).text).not.toContain(key);
    expect(JSON.stringify(await listKeys(url))).toContain(id);
    expect(JSON.stringify(await listKeys(url))).not.toMatch(/agk_/);
    expect(gateway.text()).toMatch(/access key created/);
    expect(gateway.text()).not.toMatch(/agk_/);
    expect(textBelow(join(gateway.folder, '.gateway'))).toContain('hidden');
    expect(textBelow(join(gateway.folder, '.gateway'))).not.toMatch(/agk_/);
  });
});

test('keys survive a restart, and without an api_key they restrict their holders', async () => {
  const servers = { echo: fault('echo') };
  const first = await startGateway({ servers });
  const create = async (name: string, role: string) =>
    (await postKeys(first.url, { name, role }, {})).json as { readonly id: string; readonly key: string };
  expect(await postKeys(first.url, { name: 'x', role: 'user' }, { authorization: '' })).toMatchObject({
    status: 401,
  });
  const [viewer, gone] = [await create('viewer', 'viewer'), await create('gone', 'user')];
  await ask(`${first.url}/admin/keys/${gone.id}`, { method: 'DELETE' });
  await first.stop();
  const gateway = await startGateway({ servers, folder: first.folder });
  const atRpc = async (headers: Readonly<Record<string, string>>) =>
    (await rpc(gateway.url, 'echo', call('echo', { text: 'hi' }), headers)).status;
  expect(await atRpc({ authorization: '' })).toBe(200);
  expect(await atRpc(bearer(viewer.key))).toBe(403);
  expect(await atRpc(bearer(gone.key))).toBe(403);
  const whoami = (headers: Readonly<Record<string, string>>) => ask(`${gateway.url}/whoami`, { headers });
  expect((await whoami({})).json).toEqual({ principal: 'anonymous', tenant: null, role: null });
  expect((await whoami(bearer(viewer.key))).json).toMatchObject({ principal: 'key:viewer', role: 'viewer' });
  expect((await ask(`${gateway.url}/admin/keys`, {})).status).toBe(401);
});

test('a gateway without keys opens no store for a request with the text of a key', async () => {
  const gateway = await startGateway({ settings: { api_key: ADMIN_KEY } });
  const { key } = await createKey(gateway.url, 'one', 'viewer');
  const other = await startGateway({ settings: { api_key: ADMIN_KEY } });
  const { status, text } = await ask(`${other.url}/servers`, { headers: bearer(key) });
  expect([status, text]).toEqual([403, INVALID]);
  expect(readdirSync(join(other.folder, '.gateway'))).not.toContain('store.sqlite');
});
