// What all requests to one remote server share: address, configured headers, pool of connections, and the
// session and protocol version once they are known. Every exchange is on a connection of the pool, so that `destroy` leaves
// none (L2).

import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { ConnectionOptions } from 'node:tls';
import { StartFailedError } from '../../../base/errors/errors.ts';
import type { CallId, LinkEvents } from '../link.ts';
import { ConnectionPool } from './connection-pool.ts';
import type { Destination } from './http-connection.ts';
import { plainUrl, type Redactor } from './remote-errors.ts';
import { type RemoteEvents, RemoteRequest, type RemoteTarget } from './remote-request.ts';
import type { ResponseHead } from './response-head.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

/** These belong to the transport; configured ones would break the framing of the request. */
const RESERVED = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
  'trailer',
]);

export interface RemoteOptions {
  /** http: or https:. */
  readonly url: URL;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  readonly redactor: Redactor;
  /** Whether the message is the answer to our request `call`. */
  readonly isAnswerTo: (bytes: Buffer, call: CallId) => boolean;
  readonly connectTimeoutMs?: number | undefined;
  /** Keys or certificates of ours, where the server is to know us by them. */
  readonly tls?: ConnectionOptions | undefined;
  readonly events: LinkEvents;
}

export interface RequestParts {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Where other than the address of the catalog. */
  readonly url?: URL | undefined;
  /** Beyond the configured and the session's headers; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** A W3C trace context header. */
  readonly traceparent?: string | undefined;
  readonly body?: Buffer | undefined;
}

const POST_HEADERS: Readonly<Record<string, string>> = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
};

/** The POST that carries one message, with headers of its own. */
export function postOf(
  body: Buffer,
  traceparent: string | undefined,
  own?: Readonly<Record<string, string>>,
): RequestParts {
  const headers = own === undefined ? POST_HEADERS : { ...own, ...POST_HEADERS };
  return { method: 'POST', headers, traceparent, body };
}

export class RemoteSession {
  readonly url: URL;
  id: string | undefined;
  protocolVersion: string | undefined;

  readonly #target: RemoteTarget;
  /** The configured ones, and those that every request has. */
  readonly #headers: Readonly<Record<string, string>>;
  /** The head of the usual POST but for its trace and its length; `undefined` until it is asked for. */
  #postHead: string | undefined;
  /** What that head was made for. */
  #postId: string | undefined;
  #postVersion: string | undefined;

  constructor(options: RemoteOptions) {
    const { url, redactor, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
    this.url = url;
    const headers: Record<string, string> = { host: url.host, 'user-agent': 'actor-gateway' };
    const { username, password } = url;
    if (username !== '' || password !== '') headers.authorization = basicCredentials(username, password);
    for (const [name, value] of Object.entries(options.headers)) {
      if (!RESERVED.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
    }
    this.#headers = { ...headers, 'accept-encoding': 'identity' };
    this.#target = {
      pool: new ConnectionPool(destinationOf(url, headers, connectTimeoutMs, options.tls)),
      redactor,
    };
  }

  get queuedBytes(): number {
    return this.#target.pool.unsentBytes;
  }

  /** The error for an address or a header that no request could be made with, if there is one. */
  fault(): StartFailedError | undefined {
    if (this.url.protocol !== 'http:' && this.url.protocol !== 'https:')
      return new StartFailedError(`${plainUrl(this.url)}: the \`url:\` must begin with http:// or https://`);
    for (const [name, value] of Object.entries(this.#headers)) {
      try {
        validateHeaderName(name);
        validateHeaderValue(name, value);
      } catch {
        return new StartFailedError(
          `the header ${JSON.stringify(name)} for ${plainUrl(this.url)} has a name or value that HTTP does not allow`,
        );
      }
    }
    return undefined;
  }

  request(parts: RequestParts, handler: RemoteEvents): RemoteRequest {
    const request = new RemoteRequest(this.#target, parts.url ?? this.url, parts.method, handler);
    try {
      request.send(this.#headOf(parts), parts.body);
    } catch (error) {
      request.failLater(error as Error);
    }
    return request;
  }

  /** Takes the session id from the answer to `initialize`; later answers cannot change it. */
  learn(head: ResponseHead): void {
    if (this.id !== undefined || this.protocolVersion !== undefined) return;
    const id = head.header('mcp-session-id');
    // An id that breaks the rule of the specification (visible ASCII) cannot be sent back: as if there was none.
    if (id !== undefined && SESSION_ID.test(id)) this.id = id;
  }

  destroy(): void {
    this.#target.pool.close();
  }

  /** Up to the empty line. Throws TypeError for a header that HTTP does not allow. */
  #headOf(parts: RequestParts): string {
    const { method, url = this.url, headers, traceparent, body } = parts;
    const isUsual = headers === POST_HEADERS && url === this.url && this.#headers.traceparent === undefined;
    let head = isUsual ? this.#usualHead() : headText(method, url, this.#all(headers, traceparent));
    if (isUsual && traceparent !== undefined) head += headerLine('traceparent', traceparent);
    return body === undefined ? `${head}\r\n` : `${head}content-length: ${body.length}\r\n\r\n`;
  }

  #usualHead(): string {
    if (
      this.#postHead === undefined ||
      this.#postId !== this.id ||
      this.#postVersion !== this.protocolVersion
    ) {
      this.#postHead = headText('POST', this.url, this.#all(POST_HEADERS, undefined));
      this.#postId = this.id;
      this.#postVersion = this.protocolVersion;
    }
    return this.#postHead;
  }

  #all(own: Readonly<Record<string, string>>, traceparent: string | undefined): Record<string, string> {
    const headers = { ...this.#headers };
    if (this.id !== undefined) headers['mcp-session-id'] = this.id;
    if (this.protocolVersion !== undefined) headers['mcp-protocol-version'] = this.protocolVersion;
    Object.assign(headers, own);
    if (traceparent !== undefined) headers.traceparent = traceparent;
    return headers;
  }
}

function headText(method: string, url: URL, headers: Readonly<Record<string, string>>): string {
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nconnection: keep-alive\r\n`;
  for (const [name, value] of Object.entries(headers)) text += headerLine(name, value);
  return text;
}

/** Throws TypeError for what would end the line, or the head, too early. */
function headerLine(name: string, value: string): string {
  validateHeaderName(name);
  validateHeaderValue(name, value);
  return `${name}: ${value}\r\n`;
}

function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The certificate must be for the name in the Host header, where one is configured. */
function destinationOf(
  url: URL,
  headers: Readonly<Record<string, string>>,
  connectTimeoutMs: number,
  tls: ConnectionOptions | undefined,
): Destination {
  const isTls = url.protocol === 'https:';
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  return {
    isTls,
    host: hostOf(url.host),
    port,
    serverName: hostOf(headers.host ?? url.host),
    connectTimeoutMs,
    tls,
  };
}

/** Without port and brackets. */
function hostOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
}

/** The media type of an answer, without parameters, in lower case; empty where it names none. */
export function mediaType(head: ResponseHead): string {
  const type = head.header('content-type');
  if (type === undefined || type === 'application/json') return type ?? '';
  return type.split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';
}
