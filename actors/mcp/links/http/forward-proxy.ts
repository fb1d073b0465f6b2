// Connections through a forward proxy: a tunnel to a server with TLS (CONNECT, RFC 9110 section 9.3.6). A
// request to a server without TLS contains the complete URL instead of a path (RFC 9112 section 3.2.2).

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { withoutBrackets } from '../../../../libs/rest/host.ts';
import { proxyCredentials } from '../../../../libs/rest/proxy.ts';

export interface Tunnel {
  destroy(): void;
}

interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

/** Returns host and port as in a URL, where an IPv6 address needs brackets. */
const inUrl = ({ host, port }: ProxyTarget) => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** Opens a tunnel, then calls `onOpen` or `onFailure` once. */
export function openTunnel(
  proxy: URL,
  destination: ProxyTarget,
  onOpen: (socket: Socket) => void,
  onFailure: (error: Error) => void,
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
  request.once('connect', ({ statusCode = 0, statusMessage = '' }, socket: Socket, head: Buffer) => {
    if (statusCode >= 200 && statusCode <= 299) {
      // `head` has the first bytes of the tunnel, if they arrived with the response of the proxy.
      if (head.length > 0) socket.unshift(head);
      onOpen(socket);
      return;
    }
    socket.destroy();
    onFailure(new Error(refusalText(proxy, statusCode, statusMessage)));
  });
  request.on('error', (error) => onFailure(new Error(`proxy ${proxy.host}: ${error.message}`)));
  request.end();
  return request;
}

function refusalText({ host, username }: URL, status: number, reason: string): string {
  const remedy =
    status === 407
      ? `; ${username === '' ? 'add' : 'check'} user name and password in HTTPS_PROXY`
      : '; if it is not needed for this server, add the host to NO_PROXY';
  return `the proxy ${host} refused the connection with ${status} ${reason}`.trimEnd() + remedy;
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
