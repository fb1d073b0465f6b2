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

test('a request forwarded to another node contains no operator token, but a header that marks the operator', () => {
  for (const credentials of [{ authorization: 'Bearer agop_x' }, { 'x-api-key': 'agop_x' }]) {
    const text = head(credentials, operator);
    expect(text).toContain('\r\nx-node-operator: 1\r\n');
    expect(text).not.toContain('agop_x');
  }
});

test('a request forwarded to another node keeps the credentials of the client, but not a forged operator header', () => {
  const text = head({ 'x-node-operator': '1', authorization: 'Bearer key' });
  expect(text).not.toContain('x-node-operator');
  expect(text).toContain('\r\nauthorization: Bearer key\r\n');
});
