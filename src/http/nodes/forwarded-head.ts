// Creates the HTTP heads of forwarded requests and of their responses. Drops headers that concern only the
// connection, and headers that are reserved for nodes, so that a client cannot act as a node. The operator
// token is not forwarded; the header `x-node-operator` replaces it.

import {
  NODE_HEADER_PREFIX,
  type NodeConnection,
  nodeHeaders,
} from '../../../actors/cluster/node-connection.ts';
import type { ResponseHead } from '../../../actors/mcp/links/http/response-head.ts';
import type { HeaderList } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';

/**
 * Headers that are not forwarded: connection headers (RFC 9110, section 7.6.1), headers that this node writes
 * itself, and Origin and Host, which this node has already checked.
 */
const notForwarded = new Set([
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
/** Matches values without line breaks. */
const SAFE_VALUE = /^[\t -~\u0080-\uffff]*$/;
const VISIBLE = /^[!-~]+$/;

/** Returns the head of the request; undefined if method or path cannot be sent unchanged. */
export function requestHead(
  { request, requestId, traceparent, principal }: ExchangeContext,
  connection: NodeConnection,
  bodyBytes: number | undefined,
): string | undefined {
  const { method, path, query, headers } = request;
  const target = query === '' ? path : `${path}?${query}`;
  if (!VISIBLE.test(target) || !TOKEN.test(method.toLowerCase())) return undefined;
  const isOperator = principal.kind === 'operator';
  const connectionHeaders = new Set(
    (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()),
  );
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${connection.url.host}\r\nconnection: keep-alive\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (notForwarded.has(name) || connectionHeaders.has(name) || name.startsWith(NODE_HEADER_PREFIX))
      continue;
    if (isOperator && credentials.has(name)) continue;
    if (!TOKEN.test(name) || !SAFE_VALUE.test(value)) continue;
    // The value was decoded as UTF-8, and the head will be written as Latin-1.
    head += `${name}: ${Buffer.from(value).toString('latin1')}\r\n`;
  }
  head += `x-request-id: ${requestId}\r\ntraceparent: ${traceparent}\r\n`;
  if (isOperator) head += `${nodeHeaders.operator}: 1\r\n`;
  for (const [name, value] of Object.entries(connection.headers)) head += `${name}: ${value}\r\n`;
  return bodyBytes === undefined ? `${head}\r\n` : `${head}content-length: ${bodyBytes}\r\n\r\n`;
}

const forwardedResponseHeaders = [
  ...['content-type', 'mcp-session-id', 'cache-control', 'x-accel-buffering', 'retry-after'],
  ...['www-authenticate', 'allow'],
];

export function responseHeaders(head: ResponseHead): HeaderList {
  return forwardedResponseHeaders.flatMap((name) => {
    const value = head.header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
}
