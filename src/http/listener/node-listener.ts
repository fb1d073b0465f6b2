// Listener on node:http, for platforms on which uWebSockets.js cannot be loaded, and for TLS between nodes.
// Limits and timeouts are the same as in uWebSockets.js.

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Server as NetServer, Socket } from 'node:net';
import { Deadlines } from '../../../actors/base/time/deadlines.ts';
import { BodyBudget } from '../body/body-budget.ts';
import type { IncomingBody } from '../body/incoming-body.ts';
import { refuseMalformed, reportFault, serveRequest } from '../serve-request.ts';
import { addHeader, HeaderRecord } from './framing.ts';
import { NodeReply } from './node-reply.ts';
import { Readers } from './readers.ts';
import type { ReplyOwner } from './reply.ts';
import {
  BODY_TIMEOUT_MS,
  type HttpRequest,
  IDLE_TIMEOUT_MS,
  type Listener,
  type ListenerOptions,
  MAX_HEADER_BYTES,
} from './seam.ts';

/**
 * Servers of Node. Connections arrive at `gate`, which is `http` itself or a filter before it (tls-gate.ts).
 */
export interface NodeServers {
  readonly http: Server;
  readonly gate: NetServer;
}

/** Opens the listener. Rejects with the system's error. `createServers` may create a TLS server. */
export async function listenNode(
  options: ListenerOptions,
  fallbackReason?: string,
  createServers: (settings: ServerOptions) => NodeServers = plainServer,
): Promise<Listener> {
  const listener = new NodeListener(options, fallbackReason, createServers);
  await listener.start();
  return listener;
}

function plainServer(settings: ServerOptions): NodeServers {
  const http = createServer(settings);
  return { http, gate: http };
}

class NodeRequest implements HttpRequest {
  /** node:http checks the framing of chunked bodies strictly. */
  readonly isBodyExact = true;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Record<string, string>;
  readonly #socket: Socket;

  constructor(raw: IncomingMessage) {
    const target = raw.url ?? '';
    const mark = target.indexOf('?');
    this.method = raw.method ?? '';
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
    this.headers = collectHeaders(raw.rawHeaders);
    this.#socket = raw.socket;
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? '';
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }
}

/** Reads the raw list of headers, because Node's record drops some repeated headers. */
function collectHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const headers = new HeaderRecord();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    addHeader(headers, (rawHeaders[at] ?? '').toLowerCase(), textOf(rawHeaders[at + 1] ?? ''));
  return headers;
}

const BEYOND_ASCII = /[\x80-\xff]/;

/** Decodes a header value as UTF-8, like uWebSockets.js; node:http has decoded it as Latin-1. */
function textOf(value: string): string {
  return BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}

class NodeListener implements Listener, ReplyOwner {
  readonly kind = 'node:http';
  readonly fallbackReason: string | undefined;
  readonly #server: Server;
  readonly #gate: NetServer;
  /** Limits the memory for clients that read slowly. */
  readonly readers: Readers;
  readonly #options: ListenerOptions;
  readonly #bodies: BodyBudget;
  readonly #bodyDeadlines: Deadlines<IncomingBody>;
  #port: number;
  /** Connections that are being closed after invalid framing. Further data is not handled as requests. */
  readonly #closing = new WeakSet<Socket>();
  /** Number of incompletely answered requests. */
  #openRequests = 0;

  constructor(
    options: ListenerOptions,
    fallbackReason: string | undefined,
    createServers: (settings: ServerOptions) => NodeServers,
  ) {
    this.#options = options;
    this.#bodies = options.bodies ?? BodyBudget.for(options.maxBodyBytes);
    this.readers = options.readers ?? Readers.for(options.maxBodyBytes);
    this.#bodyDeadlines = new Deadlines(options.bodyTimeoutMs ?? BODY_TIMEOUT_MS);
    this.#port = options.port;
    this.fallbackReason = fallbackReason;
    const { http, gate } = createServers({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: IDLE_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
      // IncomingBody has a deadline instead, so that the routes can respond.
      requestTimeout: 0,
    });
    this.#server = http;
    this.#gate = gate;
    this.#server.on('request', (raw, res) => this.#onRequest(raw, res));
    // Node warns about many listeners, and each pipelined request adds some to the socket.
    for (const event of ['connection', 'secureConnection'])
      this.#server.on(event, (socket: Socket) => socket.setMaxListeners(0));
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#options.host, port: this.#port };
  }

  get open(): number {
    return this.#openRequests;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = this.#gate;
      server.once('error', reject);
      server.listen({ host: this.#options.host, port: this.#options.port, exclusive: true }, () => {
        server.off('error', reject);
        // Later errors, such as too many open files, concern only one connection.
        server.on('error', (error) => this.onFault(error));
        this.#port = (server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  stopListening(): void {
    this.#gate.close();
  }

  close(): void {
    this.#gate.close();
    this.#server.closeAllConnections();
  }

  onSettled(): void {
    this.#openRequests -= 1;
  }

  onFault(error: unknown): void {
    reportFault(this.#options, error);
  }

  #onRequest(raw: IncomingMessage, res: ServerResponse): void {
    // No response: the previous response closes the connection.
    if (this.#closing.has(raw.socket)) return;
    const request = new NodeRequest(raw);
    const reply = new NodeReply(res, raw.socket, request.method === 'HEAD', this);
    this.#openRequests += 1;
    if (!serveRequest(request, reply, this.#options, this.#bodies, this.#bodyDeadlines)) {
      this.#closing.add(raw.socket);
      refuseMalformed(request, reply);
    }
    const { body } = reply;
    if (body === undefined) return;
    raw.on('data', (chunk: Buffer) => body.push(chunk));
    raw.on('end', () => body.finish());
  }
}
