// The one way out for the browser: an HTTP proxy on a loopback port that resolves names itself, checks the addresses and
// connects to them. Redirects, sub-requests, WebSockets and whatever Chromium does on its own all come through here.
//
// 1. No connection is made but to an address that `destinationOf` has let pass, for that very connection.
// 2. Only the user the browser runs as is served, where the system can tell (peer-user.ts).
// 3. Connections are bounded in number, and have a deadline until they stand. close() ends them all.

import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import {
  type Destination,
  destinationOf,
  type Refusal,
  RefusedError,
  type Resolve,
  resolveBySystem,
} from '../../../libs/rest/destination.ts';
import { peerUser } from './peer-user.ts';

const CONNECT_MS = 15_000;
const MAX_CONNECTIONS = 512;

/** RFC 9110 section 7.6.1, and what is meant for the proxy alone. */
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

/** A connection that did not come about. */
export interface Trouble {
  /** As the page named it: `host:port`. */
  readonly authority: string;
  readonly reason: string;
  /** Forbidden, not just broken. */
  readonly isRefusal: boolean;
}

export interface ProxyChoices {
  readonly refusal: Refusal;
  /** The only user that is served; undefined: everybody on this machine. */
  readonly uid: number | undefined;
  readonly onTrouble: (trouble: Trouble) => void;
  readonly resolve?: Resolve;
}

export class LoopbackProxy {
  readonly #choices: ProxyChoices;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #strangers = new WeakMap<Duplex, Promise<boolean>>();

  private constructor(choices: ProxyChoices) {
    this.#choices = choices;
    this.#server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 });
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('connection', (socket) => {
      this.#keep(socket);
      this.#strangers.set(socket, this.#isStranger(socket));
    });
    this.#server.on('request', (ask, answer) => void this.#forward(ask, answer));
    this.#server.on('connect', (ask, socket, head) => void this.#tunnel(ask, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** A proxy that listens already. */
  static async start(choices: ProxyChoices): Promise<LoopbackProxy> {
    const proxy = new LoopbackProxy(choices);
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
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #keep(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // Whoever waits on it hears of it there; without a listener it would end the program.
    socket.on('error', () => {});
  }

  async #isStranger({ remotePort }: Socket): Promise<boolean> {
    const { uid } = this.#choices;
    if (uid === undefined || process.platform !== 'linux') return false;
    try {
      // The table is read in pieces, and a line may slip between two of them while it changes.
      const user =
        (await peerUser(this.port, remotePort ?? 0)) ?? (await peerUser(this.port, remotePort ?? 0));
      return user !== uid;
    } catch {
      // A system without this table tells nobody's name.
      return false;
    }
  }

  async #forward(ask: IncomingMessage, answer: ServerResponse): Promise<void> {
    answer.on('error', () => {});
    const url = URL.canParse(ask.url ?? '') ? new URL(ask.url ?? '') : undefined;
    if (url?.protocol !== 'http:' || (await this.#strangers.get(ask.socket))) {
      answer.writeHead(403).end();
      return;
    }
    const port = url.port === '' ? 80 : Number(url.port);
    let destination: Destination;
    try {
      destination = await this.#destination(url.hostname, port);
    } catch (error) {
      this.#say(answer, `${url.hostname}:${port}`, error);
      return;
    }
    const onward = request({
      ...destination,
      method: ask.method,
      path: `${url.pathname}${url.search}`,
      headers: endToEnd(ask.rawHeaders, url.host),
      setHost: false,
      agent: false,
    });
    onward.setTimeout(CONNECT_MS, () => {
      if (onward.socket?.connecting !== false) onward.destroy(new Error('connecting took too long'));
    });
    onward.once('socket', (socket) => this.#keep(socket));
    onward.once('response', (response) => {
      try {
        answer.writeHead(
          response.statusCode ?? 502,
          response.statusMessage ?? '',
          endToEnd(response.rawHeaders, undefined),
        );
      } catch {
        // A header that Node reads but does not write.
        answer.destroy();
        onward.destroy();
        return;
      }
      pipeline(response, answer, () => {});
    });
    const fail = (error: unknown) => {
      if (answer.headersSent || answer.destroyed) answer.destroy();
      else this.#say(answer, `${url.hostname}:${port}`, error);
    };
    onward.on('error', fail);
    onward.once('upgrade', (_response, socket) => {
      socket.destroy();
      fail(new Error('the server changed to a protocol that nobody asked for'));
    });
    answer.once('close', () => onward.destroy());
    // No pipeline: it would take the socket down with a failed request, and nobody could be told why it failed.
    ask.pipe(onward);
  }

  async #tunnel(ask: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const authority = ask.url ?? '';
    // Chromium writes an authority in its canonical form; anybody else's goes through the same parser.
    const url = URL.canParse(`http://${authority}/`) ? new URL(`http://${authority}/`) : undefined;
    if (url === undefined || (await this.#strangers.get(ask.socket))) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    try {
      const destination = await this.#destination(url.hostname, url.port === '' ? 80 : Number(url.port));
      const onward = await this.#connect(destination, socket);
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) onward.write(head);
      pipeline(socket, onward, () => {});
      pipeline(onward, socket, () => {});
    } catch (error) {
      const { status } = this.#tell(authority, error);
      socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    }
  }

  async #connect(destination: Destination, asking: Duplex): Promise<Socket> {
    const onward = connect({ ...destination, noDelay: true });
    this.#keep(onward);
    const leave = () => onward.destroy();
    asking.once('close', leave);
    const timer = setTimeout(() => onward.destroy(new Error('connecting took too long')), CONNECT_MS);
    try {
      await new Promise<void>((resolve, reject) => {
        onward.once('connect', resolve);
        onward.once('error', reject);
        onward.once('close', () => reject(new Error('the connection was closed')));
      });
      return onward;
    } finally {
      clearTimeout(timer);
      asking.off('close', leave);
    }
  }

  async #destination(host: string, port: number): Promise<Destination> {
    if (port === this.port) throw new RefusedError('that port is not for pages');
    const { refusal, resolve = resolveBySystem } = this.#choices;
    return await destinationOf(host, port, refusal, resolve);
  }

  #say(answer: ServerResponse, authority: string, error: unknown): void {
    const { status, reason } = this.#tell(authority, error);
    answer.writeHead(Number(status.slice(0, 3)), { 'content-type': 'text/plain; charset=utf-8' });
    answer.end(`${reason}\n`);
  }

  #tell(authority: string, error: unknown): { status: string; reason: string } {
    const isRefusal = error instanceof RefusedError;
    const reason = isRefusal ? error.message : connectionReason(error);
    this.#choices.onTrouble({ authority, reason, isRefusal });
    return { status: isRefusal ? '403 Forbidden' : '502 Bad Gateway', reason };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name has no address',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  ETIMEDOUT: 'connecting took too long',
  ENETUNREACH: 'the network cannot be reached',
  EHOSTUNREACH: 'the host cannot be reached',
};

function connectionReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? (code === undefined ? message : `the connection failed (${code})`);
}

/** The headers that are for the other end, as Node writes them: name, value, name, value. */
function endToEnd(rawHeaders: readonly string[], host: string | undefined): string[] {
  const named = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === 'connection')
      for (const name of rawHeaders[index + 1]?.split(',') ?? []) named.add(name.trim().toLowerCase());
  const kept: string[] = host === undefined ? [] : ['Host', host];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || named.has(lower) || (host !== undefined && lower === 'host')) continue;
    kept.push(name, rawHeaders[index + 1] ?? '');
  }
  return kept;
}
