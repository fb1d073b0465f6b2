// Headers of a forwarded request: one identifies the operator, and clients cannot set it.

import { expect, test } from 'vitest';
import type { NodeConnection } from '../../../../actors/cluster/node-connection.ts';
import { anonymous, operator } from '../../../../actors/identity/principal.ts';
import type { HttpReply } from '../../../../src/http/listener/seam.ts';
import { ExchangeContext } from '../../../../src/http/mcp/exchange-context.ts';
import { requestHead } from '../../../../src/http/nodes/forwarded-head.ts';

const nodeConnection = {
  url: new URL('https://127.0.0.1:1'),
  tls: {},
  headers: { 'x-node-to': 'b' },
} as NodeConnection;

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
  return requestHead(context, nodeConnection, undefined) ?? '';
}

test('the operator token is not forwarded; a header tells the other node that the operator sent the request', () => {
  for (const credentials of [{ authorization: 'Bearer agop_x' }, { 'x-api-key': 'agop_x' }]) {
    const text = head(credentials, operator);
    expect(text).toContain('\r\nx-node-operator: 1\r\n');
    expect(text).not.toContain('agop_x');
  }
});

test('a client cannot claim to be the operator, and its other credentials are forwarded', () => {
  const text = head({ 'x-node-operator': '1', authorization: 'Bearer key' });
  expect(text).not.toContain('x-node-operator');
  expect(text).toContain('\r\nauthorization: Bearer key\r\n');
});
