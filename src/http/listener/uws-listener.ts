// Listener on uWebSockets.js, the fast implementation. Known limits of this HTTP server:
//
// - It responds to HTTP/1.0 with 505.
// - It closes a connection on which a pipelined request arrives before the previous response.
// - It closes a connection without 408 if a body arrives slower than 16 kB/s over 10 s.
// - It trims non-ASCII bytes from both ends of header values.
// - Chunked bodies: see uws-chunks.ts.

import type { HttpResponse, HttpRequest as RawRequest, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { Deadlines } from '../../../actors/base/time/deadlines.ts';
import { BodyBudget } from '../body/body-budget.ts';
import type { IncomingBody } from '../body/incoming-body.ts';
import { refuseMalformed, reportFault, serveRequest } from '../serve-request.ts';
import { addHeader, HeaderRecord } from './framing.ts';
import { Readers } from './readers.ts';
import type { ReplyOwner } from './reply.ts';
import {
  BODY_TIMEOUT_MS,
  type HttpRequest,
  type Listener,
  type ListenerOptions,
  MAX_HEADER_BYTES,
} from './seam.ts';
import { UwsChunks } from './uws-chunks.ts';
import { UwsReply } from './uws-reply.ts';

type UwsModule = typeof import('uWebSockets.js');

/** Loads the native addon. Rejects if none exists for this platform and version of Node. */
export async function loadUws(): Promise<UwsModule> {
  // The addon reads this variable when it is loaded. Its default of 4 kB is too small for some signed tokens.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(MAX_HEADER_BYTES);
  try {
    return await import('uWebSockets.js');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    // Without node_modules: the build copies the addon next to the program (scripts/build.mjs).
    return await import(new URL('./uWebSockets.js/index.mjs', import.meta.url).href);
  }
}

/** Returns undefined if the system refuses the address. uWebSockets.js does not report the reason. */
export function listenUws(uws: UwsModule, options: ListenerOptions): Listener | undefined {
  const listener = new UwsListener(uws, options);
  return listener.isListening ? listener : undefined;
}

class UwsRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Record<string, string>;
  readonly #reply: UwsReply;
  readonly localPort: number;
  #remoteAddress: string | undefined;

  constructor(raw: RawRequest, method: string, reply: UwsReply, localPort: number) {
    this.method = method;
    this.path = raw.getUrl();
    this.query = raw.getQuery() ?? '';
    this.headers = collectHeaders(raw);
    this.#reply = reply;
    this.localPort = localPort;
  }

  get remoteAddress(): string {
    this.#remoteAddress ??= this.#reply.remoteAddress;
    return this.#remoteAddress;
  }

  /** False for chunked bodies: uWebSockets.js checks their framing too loosely (seam.ts). */
  get isBodyExact(): boolean {
    return this.headers['transfer-encoding'] === undefined;
  }
}

// forEach is synchronous, so all requests can share a callback and a variable, which avoids a closure per
// request.
let collectedHeaders: Record<string, string> = new HeaderRecord();
const collect = (name: string, value: string): void => addHeader(collectedHeaders, name, value);

function collectHeaders(raw: RawRequest): Record<string, string> {
  collectedHeaders = new HeaderRecord();
  raw.forEach(collect);
  return collectedHeaders;
}

class UwsListener implements Listener, ReplyOwner {
  readonly kind = 'uWebSockets.js';
  readonly fallbackReason = undefined;
  readonly address: { readonly host: string; readonly port: number };
  readonly #uws: UwsModule;
  readonly #app: TemplatedApp;
  readonly readers: Readers;
  readonly #options: ListenerOptions;
  readonly #bodies: BodyBudget;
  readonly #bodyDeadlines: Deadlines<IncomingBody>;
  readonly #chunks: UwsChunks;
  #socket: us_listen_socket | false = false;
  #open = 0;

  constructor(uws: UwsModule, options: ListenerOptions) {
    this.#uws = uws;
    this.#options = options;
    const bodyTimeoutMs = options.bodyTimeoutMs ?? BODY_TIMEOUT_MS;
    this.#bodyDeadlines = new Deadlines(bodyTimeoutMs);
    this.#chunks = new UwsChunks(bodyTimeoutMs);
    this.#bodies = options.bodies ?? BodyBudget.for(options.maxBodyBytes);
    this.readers = options.readers ?? Readers.for(options.maxBodyBytes);
    this.#app = uws.App().any('/*', (res, raw) => this.#onRequest(res, raw));
    listenExclusively(this.#app, options, (socket) => {
      this.#socket = socket;
    });
    // us_socket_local_port also accepts a listen socket, although its type does not.
    const port = this.#socket ? uws.us_socket_local_port(this.#socket as never) : options.port;
    this.address = { host: options.host, port };
  }

  get isListening(): boolean {
    return this.#socket !== false;
  }

  get open(): number {
    return this.#open;
  }

  stopListening(): void {
    if (this.#socket) this.#uws.us_listen_socket_close(this.#socket);
    this.#socket = false;
  }

  close(): void {
    this.#socket = false;
    this.#app.close();
  }

  onSettled(): void {
    this.#open -= 1;
  }

  onFault(error: unknown): void {
    reportFault(this.#options, error);
  }

  #onRequest(res: HttpResponse, raw: RawRequest): void {
    const method = raw.getCaseSensitiveMethod();
    const reply = new UwsReply(res, method === 'HEAD', this);
    const request = new UwsRequest(raw, method, reply, this.address.port);
    this.#open += 1;
    const isChunked = !request.isBodyExact;
    reply.isLastOfConnection = isChunked;
    const deadlines = isChunked ? this.#chunks.deadlines : this.#bodyDeadlines;
    if (!serveRequest(request, reply, this.#options, this.#bodies, deadlines)) {
      // Deferred: after an immediate response, the server would parse the next bytes as a request, even if
      // the response closes the connection. While this request is open, the server closes the connection when
      // further bytes arrive.
      setImmediate(() => refuseMalformed(request, reply));
    }
    reply.watch();
    const { body } = reply;
    if (body === undefined || reply.isSettled) return;
    if (isChunked) {
      this.#chunks.receive(res, body, reply);
      return;
    }
    res.onData((chunk, isLast) => {
      // Copied, because the server reuses the memory after the callback.
      body.push(Buffer.from(new Uint8Array(chunk)));
      if (isLast) body.finish();
    });
  }
}

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it, two processes would share a port silently. */
const EXCLUSIVE_PORT = 1;

type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => void;

/** Calls `listen` with host and options, which its type does not declare. The callback is synchronous. */
function listenExclusively(
  app: TemplatedApp,
  options: ListenerOptions,
  callback: (socket: us_listen_socket | false) => void,
): void {
  const listen = app.listen.bind(app) as unknown as ListenExclusively;
  listen(options.host, options.port, EXCLUSIVE_PORT, callback);
}
