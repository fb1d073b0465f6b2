// Connections through a forward proxy: a tunnel to a server with TLS (CONNECT, RFC 9110 section 9.3.6). A
// request to a server without TLS contains the complete URL instead of a path (RFC 9112 section 3.2.2). Every
// failure is a ProxyConnectionError, so that errors name the proxy instead of the server.

import { request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { withoutBrackets } from './host.ts';
import { proxyCredentials } from './proxy.ts';
import { ProxyConnectionError } from './proxy-connection-error.ts';

const TUNNEL_TIMEOUT_MS = 10_000;

export interface Tunnel {
  destroy(): void;
}

interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

/** Returns host and port as in a URL, where an IPv6 address needs brackets. */
const inUrl = ({ host, port }: ProxyTarget) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** Opens a tunnel, then calls `onOpen` or `onFailure` once, unless it is destroyed. */
export function openTunnel(
  proxy: URL,
  destination: ProxyTarget,
  onOpen: (socket: Socket) => void,
  onFailure: (error: ProxyConnectionError) => void,
): Tunnel {
  const target = inUrl(destination);
  const credentials = proxyCredentials(proxy);
  const request = (proxy.protocol === 'https:' ? requestHttps : requestHttp)({
    host: withoutBrackets(proxy.hostname),
    port: proxy.port,
    method: 'CONNECT',
    path: target,
    // The tunnel has its own socket, which no agent may use for other requests.
    agent: false,
    headers: { host: target, ...(credentials && { 'proxy-authorization': credentials }) },
  });
  const timer = setTimeout(() => request.destroy(timeoutError()), TUNNEL_TIMEOUT_MS);
  request.once('connect', ({ statusCode = 0 }, socket: Socket, head: Buffer) => {
    clearTimeout(timer);
    if (statusCode >= 200 && statusCode <= 299) {
      // `head` has the first bytes of the tunnel, if they arrived with the response of the proxy.
      if (head.length > 0) socket.unshift(head);
      onOpen(socket);
      return;
    }
    socket.destroy();
    onFailure(proxyRefusal(proxy, statusCode, 'HTTPS_PROXY'));
  });
  request.on('error', (error) => onFailure(proxyFailure(proxy, error, 'HTTPS_PROXY')));
  request.once('close', () => clearTimeout(timer));
  request.end();
  return request;
}

/** Returns the error for a proxy that does not respond. */
export function timeoutError(): Error {
  return Object.assign(new Error('the proxy did not respond in time'), { code: 'ETIMEDOUT' });
}

type ProxyVariable = 'HTTP_PROXY' | 'HTTPS_PROXY';

/** Returns the error for a refusal by the proxy. `variable` names the proxy. */
export function proxyRefusal(
  { host, username }: URL,
  status: number,
  variable: ProxyVariable,
): ProxyConnectionError {
  const remedy =
    status === 407
      ? `; ${username === '' ? 'add' : 'check'} user name and password in ${variable}`
      : '; if it is not needed for this server, add the host to NO_PROXY';
  const reason = `${status} ${STATUS_CODES[status] ?? ''}`.trimEnd();
  // With these statuses, the proxy could not reach the server.
  const code = [502, 503, 504].includes(status) ? 'EHOSTUNREACH' : 'ERR_PROXY_REFUSED';
  return new ProxyConnectionError(`the proxy ${host} refused the connection with ${reason}${remedy}`, code);
}

/** Returns the error for a broken connection to the proxy. */
export function proxyFailure({ host }: URL, error: Error, variable: ProxyVariable): ProxyConnectionError {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const reason = code === '' ? 'the connection was closed' : code;
  return new ProxyConnectionError(
    `no connection through the proxy ${host}: ${reason}; check ${variable}`,
    code,
  );
}

/** Connects to the proxy, without a tunnel. */
export function connectToProxy(proxy: URL): Socket {
  const host = withoutBrackets(proxy.hostname);
  return proxy.protocol === 'https:'
    ? connectTls({ host, port: Number(proxy.port || 443), ...(isIP(host) === 0 && { servername: host }) })
    : connectTcp({ host, port: Number(proxy.port || 80) });
}

/** Returns a function that adds the whole address and the proxy credentials to the request head. */
export function headRewriter(destination: ProxyTarget, proxy: URL): (head: string) => string {
  const origin = ` http://${inUrl(destination)}`;
  const credentials = proxyCredentials(proxy);
  const line = credentials === undefined ? '' : `proxy-authorization: ${credentials}\r\n`;
  // The first space is before the path, the first CRLF after the request line.
  return (head) => head.replace(' ', origin).replace('\r\n', `\r\n${line}`);
}
