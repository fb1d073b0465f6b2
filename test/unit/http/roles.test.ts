// Roles of routes and MCP messages.

import { expect, test } from 'vitest';
import { anonymous, operator, type Principal } from '../../../actors/identity/principal.ts';
import { includesRole, type Role, roles } from '../../../actors/identity/roles.ts';
import { readClientMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import { holderOfKey, requiredRole, roleRefusal } from '../../../src/http/identification.ts';
import { ExchangeContext } from '../../../src/http/mcp/exchange-context.ts';
import { refuseByRole } from '../../../src/http/mcp/message-role.ts';
import { routeOf } from '../../../src/http/routes.ts';

const holder = (role: Role): Principal => ({ kind: 'key', name: 'one', role });

test('roles ascend from viewer to admin', () => {
  for (const [at, own] of roles.entries())
    expect(roles.map((needed) => includesRole(own, needed))).toEqual(roles.map((_, other) => at >= other));
});

test('the API key, the operator token and tokens of issuers have every role, and anonymous senders none to check', () => {
  for (const principal of [anonymous, operator, holderOfKey, { kind: 'token', name: 'alice' } as const])
    for (const role of roles) expect(roleRefusal(principal, role)).toBeUndefined();
  expect(roleRefusal(holder('user'), 'operator')).toEqual({
    kind: 'forbidden',
    reason: 'this needs the role operator',
  });
});

test.each([
  ['GET', '/servers', 'viewer'],
  ['POST', '/servers/files/start', 'operator'],
  ['POST', '/servers/files/stop', 'operator'],
  ['GET', '/nodes', 'admin'],
  ['POST', '/admin/reload', 'admin'],
  ['POST', '/mcp/files', 'viewer'],
  ['DELETE', '/mcp', 'viewer'],
  ['POST', '/rpc', 'viewer'],
] as const)('%s %s requires the role %s', (method, path, role) => {
  expect(requiredRole(method, routeOf(path)?.role)).toBe(role);
});

function refusedMethod(role: Role, method: string, params?: object): string | undefined {
  let sent: string | undefined;
  const reply = { send: (status: number, _: unknown, body: string) => (sent = `${status} ${body}`) };
  const context = new ExchangeContext({ headers: {} } as never, reply as never);
  context.isMcp = true;
  context.principal = holder(role);
  const message = { jsonrpc: '2.0', id: 7, method, ...(params === undefined ? {} : { params }) };
  refuseByRole(context, readClientMessage(Buffer.from(JSON.stringify(message))));
  return sent;
}

test.each([
  'tools/call',
  'resources/read',
  'resources/subscribe',
  'prompts/get',
  'completion/complete',
  'tasks/cancel',
  'vendor/unknown',
])('a viewer may not send %s', (method) => {
  expect(refusedMethod('viewer', method)).toBe(
    '403 {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"this needs the role user"}}',
  );
  for (const role of ['user', 'operator', 'admin'] as const)
    expect(refusedMethod(role, method)).toBeUndefined();
});

test('a viewer may list, and listen to changes of lists', () => {
  for (const method of ['initialize', 'ping', 'tools/list', 'prompts/list', 'resources/templates/list'])
    expect(refusedMethod('viewer', method)).toBeUndefined();
  const listen = (notifications: object) =>
    refusedMethod('viewer', 'subscriptions/listen', { notifications });
  expect(listen({ toolsListChanged: true })).toBeUndefined();
  expect(listen({ resourceSubscriptions: ['a://b'] })).toMatch(/^403 /);
});
