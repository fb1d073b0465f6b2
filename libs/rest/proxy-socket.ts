// Connections of WebSockets through the proxies of the environment (proxy.ts).

import type { ClientRequestArgs } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { openTunnel } from './forward-proxy.ts';
import { proxyFor } from './proxy.ts';

type CreateConnection = NonNullable<ClientRequestArgs['createConnection']>;

/** Returns the option of Node's HTTP client for a ws: or wss: address; undefined for a direct connection. */
export function proxiedConnection(address: string): CreateConnection | undefined {
  const url = new URL(address.replace(/^ws/, 'http'));
  const proxy = proxyFor(url);
  if (proxy === undefined) return undefined;
  const isTls = url.protocol === 'https:';
  return (options, done) => {
    const host = String(options.host);
    const onOpen = (socket: Socket) => {
      const servername = isIP(host) === 0 ? host : '';
      const tls = { ...(options as ConnectionOptions), path: undefined, socket, servername };
      done(null, isTls ? connectTls(tls) : socket);
    };
    openTunnel(proxy, { host, port: Number(options.port) }, onOpen, (error) =>
      done(error, undefined as never),
    );
    return undefined;
  };
}
