// The filling of the seam on node:http, for every Node that has no addon of uWebSockets.js. Limits and timeouts
// are set to what the other filling has built in, so that the gateway behaves alike on both.

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
import { refuse, reportFault, serve } from '../serve.ts';
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

/** The servers beneath: connections come in at `gate`, which is `http` itself where nothing stands before that. */
export interface ServersBeneath {
  readonly http: Server;
  readonly gate: NetServer;
}

/** Rejects with the system's error when the address is refused. `make` gives other servers than a plain one. */
export async function listenNode(
  options: ListenerOptions,
  fallbackReason?: string,
  make: (settings: ServerOptions) => ServersBeneath = plainServer,
): Promise<Listener> {
  const listener = new NodeListener(options, fallbackReason, make);
  await listener.start();
  return listener;
}

function plainServer(settings: ServerOptions): ServersBeneath {
  const http = createServer(settings);
  return { http, gate: http };
}

class NodeRequest implements HttpRequest {
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

/** From the raw list, since node's own record drops some repeated headers that the other filling joins. */
function collectHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const headers = new HeaderRecord();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    addHeader(headers, (rawHeaders[at] ?? '').toLowerCase(), textOf(rawHeaders[at + 1] ?? ''));
  return headers;
}

const BEYOND_ASCII = /[\x80-\xff]/;

/** node:http gives each byte of a value as a character, the other filling reads them as UTF-8. */
function textOf(value: string): string {
  return BEYOND_ASCII.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}

class NodeListener implements Listener, ReplyOwner {
  readonly kind = 'node:http';
  readonly fallbackReason: string | undefined;
  readonly #server: Server;
  readonly #gate: NetServer;
  readonly readers: Readers;
  readonly #options: ListenerOptions;
  readonly #bodies: BodyBudget;
  readonly #bodyDeadlines: Deadlines<IncomingBody>;
  #port: number;
  /** Connections on which the end of a request is unsure: what follows there is nobody's request. */
  readonly #condemned = new WeakSet<Socket>();
  #open = 0;

  constructor(
    options: ListenerOptions,
    fallbackReason: string | undefined,
    make: (settings: ServerOptions) => ServersBeneath,
  ) {
    this.#options = options;
    this.#bodies = options.bodies ?? BodyBudget.for(options.maxBodyBytes);
    this.readers = options.readers ?? Readers.for(options.maxBodyBytes);
    this.#bodyDeadlines = new Deadlines(options.bodyTimeoutMs ?? BODY_TIMEOUT_MS);
    this.#port = options.port;
    this.fallbackReason = fallbackReason;
    const { http, gate } = make({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: IDLE_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
      // The deadline of a body is kept by IncomingBody, which lets the routes answer.
      requestTimeout: 0,
    });
    this.#server = http;
    this.#gate = gate;
    this.#server.on('request', (raw, res) => this.#onRequest(raw, res));
    // Each request pipelined on a connection listens to its socket, and nothing else bounds their number.
    for (const event of ['connection', 'secureConnection'])
      this.#server.on(event, (socket: Socket) => socket.setMaxListeners(0));
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: this.#options.host, port: this.#port };
  }

  get open(): number {
    return this.#open;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = this.#gate;
      server.once('error', reject);
      server.listen({ host: this.#options.host, port: this.#options.port, exclusive: true }, () => {
        server.off('error', reject);
        // Later errors of a listening socket (no free descriptor for a connection) concern that connection only.
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
    this.#open -= 1;
  }

  onFault(error: unknown): void {
    reportFault(this.#options, error);
  }

  #onRequest(raw: IncomingMessage, res: ServerResponse): void {
    // No answer either: the one before this closes the connection.
    if (this.#condemned.has(raw.socket)) return;
    const request = new NodeRequest(raw);
    const reply = new NodeReply(res, raw.socket, request.method === 'HEAD', this);
    this.#open += 1;
    if (!serve(request, reply, this.#options, this.#bodies, this.#bodyDeadlines)) {
      this.#condemned.add(raw.socket);
      refuse(request, reply);
    }
    const { body } = reply;
    if (body === undefined) return;
    raw.on('data', (chunk: Buffer) => body.push(chunk));
    raw.on('end', () => body.finish());
  }
}
