// The filling of the seam on uWebSockets.js: the fast one, where its native addon loads.
// Known limits of that server: it answers HTTP/1.0 with 505; it drops a connection on which a request is pipelined
// behind one not yet answered; it drops a request whose body comes slower than 16 kB/s over 10 s (no 408 then); it takes
// bytes beyond ASCII off both ends of a header's value, as if they were blanks; what it makes of chunks, see uws-chunks.ts.

import type { HttpResponse, HttpRequest as RawRequest, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { Deadlines } from '../../../actors/base/time/deadlines.ts';
import { BodyBudget } from '../body/body-budget.ts';
import type { IncomingBody } from '../body/incoming-body.ts';
import { refuse, reportFault, serve } from '../serve.ts';
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

/** Loads the native addon; throws where there is none for this Node. */
export async function loadUws(): Promise<UwsModule> {
  // Read by the addon when it loads; its own default of 4 kB is less than what one signed token can take.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(MAX_HEADER_BYTES);
  try {
    return await import('uWebSockets.js');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    // Beside the built program, where that is all there is (scripts/build.mjs).
    return await import(new URL('./uWebSockets.js/index.mjs', import.meta.url).href);
  }
}

/** Gives undefined when the address is refused; uWebSockets.js does not say why. */
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

  get isBodyExact(): boolean {
    return this.headers['transfer-encoding'] === undefined;
  }
}

// One callback for all requests: forEach is synchronous, so one variable is enough and no request makes a closure.
let collecting: Record<string, string> = new HeaderRecord();
const collect = (name: string, value: string): void => addHeader(collecting, name, value);

function collectHeaders(raw: RawRequest): Record<string, string> {
  collecting = new HeaderRecord();
  raw.forEach(collect);
  return collecting;
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
    // A listen socket is a socket to this function too, whatever the types say.
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
    if (!serve(request, reply, this.#options, this.#bodies, deadlines)) {
      // Not at once: an answer at once, even one that closes, lets the server read what follows as the next request.
      // While this one is open, anything that follows makes the server drop the connection.
      setImmediate(() => refuse(request, reply));
    }
    reply.watch();
    const { body } = reply;
    if (body === undefined || reply.isSettled) return;
    if (isChunked) {
      this.#chunks.receive(res, body, reply);
      return;
    }
    res.onData((chunk, isLast) => {
      // The server takes its memory back when this returns, so the bytes are copied.
      body.push(Buffer.from(new Uint8Array(chunk)));
      if (isLast) body.finish();
    });
  }
}

/** LIBUS_LISTEN_EXCLUSIVE_PORT: without it two processes share a port and nobody is told. */
const EXCLUSIVE_PORT = 1;

type ListenExclusively = (
  host: string,
  port: number,
  options: number,
  callback: (socket: us_listen_socket | false) => void,
) => void;

/** `listen` with a host and options at once, which the types leave out. The callback runs before this returns. */
function listenExclusively(
  app: TemplatedApp,
  options: ListenerOptions,
  callback: (socket: us_listen_socket | false) => void,
): void {
  const listen = app.listen.bind(app) as unknown as ListenExclusively;
  listen(options.host, options.port, EXCLUSIVE_PORT, callback);
}
