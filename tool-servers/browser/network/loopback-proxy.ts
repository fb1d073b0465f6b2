// HTTP proxy on a loopback port: the only network access of the browser. It resolves names, checks addresses
// and connects. Redirects, subrequests, WebSockets and requests of Chromium itself pass through it.
//
// 1. Each connection goes to an address that `destinationOf` resolved and permitted for this connection.
// 2. On Linux, only the browser's user can connect (peer-user.ts).
// 3. The number of connections and the connect time are limited. close() closes all connections.

import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import {
  type AddressCheck,
  type Destination,
  destinationOf,
  RefusedError,
  type Resolve,
  resolveBySystem,
} from '../../../libs/rest/destination.ts';
import { peerUser } from './peer-user.ts';

const CONNECT_MS = 15_000;
const MAX_CONNECTIONS = 512;

/** Headers that are not forwarded: RFC 9110 section 7.6.1, and headers for the proxy itself. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface FailedConnection {
  /** Requested `host:port`. */
  readonly authority: string;
  readonly reason: string;
  /** True if the destination is not permitted. */
  readonly isRefusal: boolean;
}

export interface ProxyOptions {
  /** Returns the reason why an address is not permitted; undefined if it is. */
  readonly refusal: AddressCheck;
  /** User whose connections are accepted; undefined = any local user. */
  readonly uid: number | undefined;
  readonly onFailure: (failure: FailedConnection) => void;
  readonly resolve?: Resolve;
}

export class LoopbackProxy {
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  /** Results of `#isForeignUser` by socket. */
  readonly #foreignChecks = new WeakMap<Duplex, Promise<boolean>>();

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('connection', (socket) => {
      this.#track(socket);
      this.#foreignChecks.set(socket, this.#isForeignUser(socket));
    });
    this.#server.on('request', (incoming, outgoing) => void this.#forward(incoming, outgoing));
    this.#server.on('connect', (incoming, socket, head) => void this.#tunnel(incoming, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** Returns a listening proxy. */
  static async start(options: ProxyOptions): Promise<LoopbackProxy> {
    const proxy = new LoopbackProxy(options);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const whenClosed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await whenClosed;
  }

  #track(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // Errors are handled where the socket is used. Without any listener, an error event would crash the
    // process.
    socket.on('error', () => {});
  }

  /** Returns true if another local user opened the connection; false if the system cannot tell. */
  async #isForeignUser({ remotePort }: Socket): Promise<boolean> {
    const { uid } = this.#options;
    if (uid === undefined || process.platform !== 'linux') return false;
    try {
      // Reads the system's table of connections again if the entry is missing: the table may change between
      // the chunks of one read.
      const user =
        (await peerUser(this.port, remotePort ?? 0)) ?? (await peerUser(this.port, remotePort ?? 0));
      return user !== uid;
    } catch {
      // The table of connections is not available.
      return false;
    }
  }

  async #forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    outgoing.on('error', () => {});
    const url = URL.canParse(incoming.url ?? '') ? new URL(incoming.url ?? '') : undefined;
    if (url?.protocol !== 'http:' || (await this.#foreignChecks.get(incoming.socket))) {
      outgoing.writeHead(403).end();
      return;
    }
    const port = url.port === '' ? 80 : Number(url.port);
    let destination: Destination;
    try {
      destination = await this.#resolveDestination(url.hostname, port);
    } catch (error) {
      this.#respondWithFailure(outgoing, `${url.hostname}:${port}`, error);
      return;
    }
    const upstream = request({
      ...destination,
      method: incoming.method,
      path: `${url.pathname}${url.search}`,
      headers: endToEnd(incoming.rawHeaders, url.host),
      setHost: false,
      agent: false,
    });
    upstream.setTimeout(CONNECT_MS, () => {
      if (upstream.socket?.connecting !== false) upstream.destroy(new Error('connection timed out'));
    });
    upstream.once('socket', (socket) => this.#track(socket));
    upstream.once('response', (response) => {
      try {
        outgoing.writeHead(
          response.statusCode ?? 502,
          response.statusMessage ?? '',
          endToEnd(response.rawHeaders, undefined),
        );
      } catch {
        // Node receives some header values that it refuses to send.
        outgoing.destroy();
        upstream.destroy();
        return;
      }
      pipeline(response, outgoing, () => {});
    });
    const fail = (error: unknown) => {
      if (outgoing.headersSent || outgoing.destroyed) outgoing.destroy();
      else this.#respondWithFailure(outgoing, `${url.hostname}:${port}`, error);
    };
    upstream.on('error', fail);
    upstream.once('upgrade', (_response, socket) => {
      socket.destroy();
      fail(new Error('the server switched protocols without a request'));
    });
    outgoing.once('close', () => upstream.destroy());
    // After a failure, `pipeline` would destroy the socket before the error response is sent.
    incoming.pipe(upstream);
  }

  async #tunnel(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const authority = incoming.url ?? '';
    // The parser brings host and port into canonical form. Chromium sends them in this form already.
    const url = URL.canParse(`http://${authority}/`) ? new URL(`http://${authority}/`) : undefined;
    if (url === undefined || (await this.#foreignChecks.get(incoming.socket))) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    try {
      const destination = await this.#resolveDestination(
        url.hostname,
        url.port === '' ? 80 : Number(url.port),
      );
      const upstream = await this.#connect(destination, socket);
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) upstream.write(head);
      pipeline(socket, upstream, () => {});
      pipeline(upstream, socket, () => {});
    } catch (error) {
      const { status } = this.#reportFailure(authority, error);
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    }
  }

  async #connect(destination: Destination, client: Duplex): Promise<Socket> {
    const upstream = connect({ ...destination, noDelay: true });
    this.#track(upstream);
    const abort = () => upstream.destroy();
    client.once('close', abort);
    const timer = setTimeout(() => upstream.destroy(new Error('connection timed out')), CONNECT_MS);
    try {
      await new Promise<void>((resolve, reject) => {
        upstream.once('connect', resolve);
        upstream.once('error', reject);
        upstream.once('close', () => reject(new Error('the connection was closed')));
      });
      return upstream;
    } finally {
      clearTimeout(timer);
      client.off('close', abort);
    }
  }

  async #resolveDestination(host: string, port: number): Promise<Destination> {
    if (port === this.port) throw new RefusedError('pages cannot access this port');
    const { refusal, resolve = resolveBySystem } = this.#options;
    return await destinationOf(host, port, refusal, resolve);
  }

  #respondWithFailure(outgoing: ServerResponse, authority: string, error: unknown): void {
    const { status, reason } = this.#reportFailure(authority, error);
    outgoing.writeHead(Number(status.slice(0, 3)), { 'content-type': 'text/plain; charset=utf-8' });
    outgoing.end(`${reason}\n`);
  }

  #reportFailure(authority: string, error: unknown): { status: string; reason: string } {
    const isRefusal = error instanceof RefusedError;
    const reason = isRefusal ? error.message : failureReason(error);
    this.#options.onFailure({ authority, reason, isRefusal });
    return { status: isRefusal ? '403 Forbidden' : '502 Bad Gateway', reason };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name has no address',
  EAI_AGAIN: 'the host name lookup failed',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ETIMEDOUT: 'connection timed out',
  ENETUNREACH: 'the network is unreachable',
  EHOSTUNREACH: 'the host is unreachable',
};

function failureReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? (code === undefined ? message : `the connection failed (${code})`);
}

/** Returns end-to-end headers in the raw form of Node: name, value, name, value. */
function endToEnd(rawHeaders: readonly string[], host: string | undefined): string[] {
  const connectionHeaders = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'connection')
      for (const name of rawHeaders[index + 1]?.split(',') ?? [])
        connectionHeaders.add(name.trim().toLowerCase());
  const headers: string[] = host === undefined ? [] : ['Host', host];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || connectionHeaders.has(lower) || (host !== undefined && lower === 'host'))
      continue;
    headers.push(name, rawHeaders[index + 1] ?? '');
  }
  return headers;
}
