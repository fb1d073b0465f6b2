// The head sent with a forwarded request: it identifies the operator, and clients cannot set that header.

import { expect, test } from 'vitest';
import type { NodeWay } from '../../../../actors/cluster/node-ways.ts';
import { anonymous, operator } from '../../../../actors/identity/principal.ts';
import type { HttpReply } from '../../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../../src/http/mcp/exchange-context.ts';
import { forwardedHead } from '../../../../src/http/nodes/forwarded-head.ts';

const way = { url: new URL('https://127.0.0.1:1'), tls: {}, headers: { 'x-node-to': 'b' } } as NodeWay;

function head(headers: Readonly<Record<string, string>>, principal = anonymous): string {
  const request = {
    method: 'POST',
    path: '/mcp',
    query: '',
    headers,
    remoteAddress: '',
    localPort: 0,
    isBodyExact: true,
  };
  const context = new ExchangeContext(request, {} as HttpReply);
  context.principal = principal;
  return forwardedHead(context, way, undefined) ?? '';
}

test('the operator token stays, and the other node is told who has sent it', () => {
  for (const credentials of [{ authorization: 'Bearer agop_x' }, { 'x-api-key': 'agop_x' }]) {
    const text = head(credentials, operator);
    expect(text).toContain('\r\nx-node-operator: 1\r\n');
    expect(text).not.toContain('agop_x');
  }
});

test('no client makes itself the operator, and credentials of others are passed on', () => {
  const text = head({ 'x-node-operator': '1', authorization: 'Bearer key' });
  expect(text).not.toContain('x-node-operator');
  expect(text).toContain('\r\nauthorization: Bearer key\r\n');
});
