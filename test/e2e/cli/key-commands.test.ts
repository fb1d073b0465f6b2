// The commands `keys` and `whoami`, with a running gateway.

import { beforeAll, expect, test } from 'vitest';
import { ADMIN_KEY, bearer } from '../../fixtures/clients/access-keys.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({ settings: { api_key: ADMIN_KEY } });
});

const run = (args: readonly string[], key = ADMIN_KEY) =>
  runMain([...args, '--url', gateway.url], { env: { GATEWAY_API_KEY: key } });
const statusOf = async (key: string) =>
  (await ask(`${gateway.url}/servers`, { headers: bearer(key) })).status;

test('keys are created, listed, rotated and revoked, and whoami shows the role', async () => {
  expect((await run(['keys'])).stdout).toBe('no keys; create one with keys create NAME --role ROLE\n');
  const created = await run(['keys', 'create', 'ci', '--role', 'user', '--expires', '90d']);
  expect([created.code, created.stderr]).toEqual([0, '']);
  const [key = '', empty, facts = ''] = created.stdout.split('\n');
  expect(key).toMatch(/^agk_[a-z0-9]{10}_[\w-]{49}$/);
  expect(empty).toBe('');
  const id = key.slice(4, 14);
  expect(facts).toMatch(new RegExp(`^key ${id} of ci, role user, until \\d{4}-.*; it is shown only now$`));
  expect(await statusOf(key)).toBe(200);
  const whoami = await run(['whoami'], key);
  expect(whoami.stdout).toBe('key:ci (user)\n');
  const [list, sameList] = await Promise.all([run(['keys', 'list']), run(['keys'])]);
  expect(list.stdout).toBe(sameList.stdout);
  const [title = '', row = ''] = list.stdout.split('\n');
  expect(title.split(/ {2,}/)).toEqual(['ID', 'NAME', 'ROLE', 'STATE', 'EXPIRES', 'LAST USED', 'CREATED BY']);
  expect(row.split(/ {2,}/)).toMatchObject([id, 'ci', 'user', 'valid', {}, {}, 'key:api_key']);
  const rotated = await run(['keys', 'rotate', id, '--overlap', '24h']);
  const next = rotated.stdout.split('\n')[0] ?? '';
  expect([await statusOf(key), await statusOf(next)]).toEqual([200, 200]);
  expect((await run(['keys', 'revoke', id])).stdout).toBe(`revoked the key ${id}\n`);
  expect([await statusOf(key), await statusOf(next)]).toEqual([403, 200]);
});

test('--json prints the response, and failures describe the cause', async () => {
  const json = async (args: readonly string[], key?: string) =>
    JSON.parse((await run([...args, '--json'], key)).stdout);
  const created = await json(['keys', 'create', 'robot', '--role', 'viewer']);
  expect(created).toMatchObject({ name: 'robot', role: 'viewer', expires_at: null });
  expect((await json(['keys', 'list'])).keys).toContainEqual(
    expect.objectContaining({ id: created.id, created_by: 'key:api_key' }),
  );
  expect(await json(['whoami'], created.key)).toEqual({
    principal: 'key:robot',
    tenant: null,
    role: 'viewer',
  });
  const [denied, unknown, taken, wrong] = await Promise.all([
    run(['keys', 'create', 'more', '--role', 'viewer'], created.key),
    run(['keys', 'revoke', 'nothing']),
    run(['keys', 'create', 'robot', '--role', 'viewer']),
    run(['keys', 'create', 'other', '--role', 'king']),
  ]);
  expect([denied.code, denied.stderr]).toEqual([1, 'this needs the role admin\n']);
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    'there is no key with the id "nothing"; GET /admin/keys lists them\n',
  ]);
  expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('a valid key has the name robot')]);
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('role should be one of viewer, user'),
  ]);
  expect(await json(['keys', 'rotate', created.id])).toMatchObject({ name: 'robot', role: 'viewer' });
  expect(await json(['keys', 'revoke', created.id])).toEqual({ id: created.id, revoked: true });
});
