// The heads of a request that is passed on to another node, and of its answer: what belongs to the connection stays, and so does what
// nodes alone may say.
//
// FH1  nothing that a client sends looks like the word of a node.
// The operator token is not forwarded; the receiving node sends `x-node-operator` instead.

import { NODE_HEADER_PREFIX, type NodeWay, nodeHeaders } from '../../../actors/cluster/node-ways.ts';
import type { ResponseHead } from '../../../actors/mcp/links/http/response-head.ts';
import type { HeaderList } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';

/** RFC 9110, section 7.6.1, and what is written anew. Origin and Host were looked at by the node that was asked. */
const ownOfConnection = new Set([
  ...[
    'connection',
    'keep-alive',
    'proxy-connection',
    'proxy-authenticate',
    'proxy-authorization',
    'te',
    'trailer',
  ],
  ...['transfer-encoding', 'upgrade', 'content-length', 'expect', 'host', 'origin', 'accept-encoding'],
  ...['x-request-id', 'traceparent'],
]);

const credentials: ReadonlySet<string> = new Set(['authorization', 'x-api-key']);

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** No line can be ended by it. */
const SAFE_VALUE = /^[\t -~\u0080-\uffff]*$/;
const VISIBLE = /^[!-~]+$/;

/** Up to the empty line; undefined where a part of it cannot be sent as it is. */
export function forwardedHead(
  { request, requestId, traceparent, principal }: ExchangeContext,
  way: NodeWay,
  bodyBytes: number | undefined,
): string | undefined {
  const { method, path, query, headers } = request;
  const target = query === '' ? path : `${path}?${query}`;
  if (!VISIBLE.test(target) || !TOKEN.test(method.toLowerCase())) return undefined;
  const isOperator = principal.kind === 'operator';
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${way.url.host}\r\nconnection: keep-alive\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (ownOfConnection.has(name) || named.has(name) || name.startsWith(NODE_HEADER_PREFIX)) continue;
    if (isOperator && credentials.has(name)) continue;
    if (!TOKEN.test(name) || !SAFE_VALUE.test(value)) continue;
    // They were read as UTF-8, and a head is written byte by byte.
    head += `${name}: ${Buffer.from(value).toString('latin1')}\r\n`;
  }
  head += `x-request-id: ${requestId}\r\ntraceparent: ${traceparent}\r\n`;
  if (isOperator) head += `${nodeHeaders.operator}: 1\r\n`;
  for (const [name, value] of Object.entries(way.headers)) head += `${name}: ${value}\r\n`;
  return bodyBytes === undefined ? `${head}\r\n` : `${head}content-length: ${bodyBytes}\r\n\r\n`;
}

const answered = [
  ...['content-type', 'mcp-session-id', 'cache-control', 'x-accel-buffering', 'retry-after'],
  ...['www-authenticate', 'allow'],
];

export function answerHeaders(head: ResponseHead): HeaderList {
  return answered.flatMap((name) => {
    const value = head.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
}
