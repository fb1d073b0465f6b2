// State shared by all requests to a remote server: address, configured headers, connection pool, and, once
// known, the session id and protocol version. Every exchange uses a connection of the pool, so `destroy`
// closes all of them (L2, link.ts).

import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { ConnectionOptions } from 'node:tls';
import { proxyFor } from '../../../../libs/rest/proxy.ts';
import { nextAddress } from '../../../../libs/rest/redirect.ts';
import { RequestFault } from '../../../../libs/rest/request-fault.ts';
import { StartFailedError } from '../../../base/errors/errors.ts';
import type { CallId, LinkEvents } from '../link.ts';
import { ConnectionPool } from './connection-pool.ts';
import { destinationOf } from './http-destination.ts';
import { plainUrl, type TextRedactor } from './remote-errors.ts';
import {
  type RedirectedRequest,
  type RemoteEvents,
  RemoteRequest,
  type RemoteTarget,
  type RequestParts,
} from './remote-request.ts';
import type { ResponseHead } from './response-head.ts';
import { SessionCookies } from './session-cookies.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

/** Headers that only the transport sets. Configured values would break the framing. */
const RESERVED_HEADERS = new Set([
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
  readonly redactor: TextRedactor;
  /** Returns true if the message is the response to the gateway's request `call`. */
  readonly isAnswerTo: (bytes: Buffer, call: CallId) => boolean;
  readonly connectTimeoutMs?: number | undefined;
  /** Client keys and certificates for servers with client authentication. */
  readonly tls?: ConnectionOptions | undefined;
  readonly events: LinkEvents;
}

const POST_HEADERS: Readonly<Record<string, string>> = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
};

/** Returns the POST for a message, with optional extra headers. */
export function postOf(
  body: Buffer,
  traceparent: string | undefined,
  own?: Readonly<Record<string, string>>,
): RequestParts {
  const headers = own === undefined ? POST_HEADERS : { ...own, ...POST_HEADERS };
  return { method: 'POST', headers, traceparent, body };
}

export class RemoteSession {
  /** Configured address, or the last redirect's target. */
  url: URL;
  id: string | undefined;
  protocolVersion: string | undefined;

  readonly #target: RemoteTarget;
  /** Configured headers, and headers of every request. */
  readonly #headers: Readonly<Record<string, string>>;
  /** Cached head of an ordinary POST, without trace and length. */
  #postHead: string | undefined;
  readonly #cookies = new SessionCookies();
  /** Address in the cached head. The next fields are its cookies, session id and version. */
  #postUrl: URL | undefined;
  #postCookie: string | undefined;
  #postId: string | undefined;
  #postVersion: string | undefined;

  constructor(options: RemoteOptions) {
    const { url, redactor, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options;
    this.url = url;
    const headers: Record<string, string> = { host: url.host, 'user-agent': 'actor-gateway' };
    const { username, password } = url;
    if (username !== '' || password !== '') headers.authorization = basicCredentials(username, password);
    for (const [name, value] of Object.entries(options.headers)) {
      if (!RESERVED_HEADERS.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
    }
    this.#headers = { ...headers, 'accept-encoding': 'identity' };
    this.#target = {
      // A configured Host header is the expected name in the certificate.
      pool: new ConnectionPool(
        destinationOf(url, { connectTimeoutMs, tls: options.tls, proxy: proxyFor(url) }, headers.host),
      ),
      redactor,
      onHead: (head, from) => this.#cookies.store(head, from),
      redirect: (parts, head, from, count) => this.#redirect(parts, head, from, count),
    };
  }

  get queuedBytes(): number {
    return this.#target.pool.unsentBytes;
  }

  /** Returns an error if the address or a header cannot be used for requests. */
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
    const request = new RemoteRequest(this.#target, parts.url ?? this.url, parts, handler);
    try {
      request.send(this.#headOf(parts), parts.body);
    } catch (error) {
      request.failLater(error as Error);
    }
    return request;
  }

  /**
   * Returns the request to the redirect's target. After a POST the target is the address of the session.
   */
  #redirect(
    parts: RequestParts,
    head: ResponseHead,
    from: URL,
    count: number,
  ): RedirectedRequest | undefined {
    let url: URL | undefined;
    try {
      url = nextAddress(head, { from, isWrite: parts.method !== 'GET', count });
    } catch (error) {
      if (!(error instanceof RequestFault)) throw error;
    }
    if (url === undefined) return undefined;
    if (parts.url === undefined && parts.method === 'POST') this.url = url;
    return { url, head: this.#headOf({ ...parts, url }) };
  }

  /** Stores the session id of the response to `initialize`; later responses cannot change it. */
  storeSessionId(head: ResponseHead): void {
    // The protocol version is set after the handshake.
    if (this.id !== undefined || this.protocolVersion !== undefined) return;
    const id = head.header('mcp-session-id');
    // Invalid ids are ignored: the specification requires visible ASCII, and another id could not be sent
    // back.
    if (id !== undefined && SESSION_ID.test(id)) this.id = id;
  }

  destroy(): void {
    this.#target.pool.close();
  }

  /** Returns the head up to the empty line. Throws TypeError for a header that HTTP does not allow. */
  #headOf(parts: RequestParts): string {
    const { method, url = this.url, headers, traceparent, body } = parts;
    // The trace header is appended to the cached head. A configured one would then occur twice.
    const isOrdinaryPost =
      headers === POST_HEADERS && url === this.url && this.#headers.traceparent === undefined;
    let head = isOrdinaryPost
      ? this.#cachedPostHead()
      : headText(method, url, this.#all(url, headers, traceparent));
    if (isOrdinaryPost && traceparent !== undefined) head += headerLine('traceparent', traceparent);
    return body === undefined ? `${head}\r\n` : `${head}content-length: ${body.length}\r\n\r\n`;
  }

  #cachedPostHead(): string {
    const cookie = this.#cookies.headerFor(this.url);
    if (
      this.#postHead === undefined ||
      this.#postUrl !== this.url ||
      this.#postCookie !== cookie ||
      this.#postId !== this.id ||
      this.#postVersion !== this.protocolVersion
    ) {
      this.#postHead = headText('POST', this.url, this.#all(this.url, POST_HEADERS, undefined));
      this.#postUrl = this.url;
      this.#postCookie = cookie;
      this.#postId = this.id;
      this.#postVersion = this.protocolVersion;
    }
    return this.#postHead;
  }

  /** Returns all headers of a request. `own` overrides the configured headers. */
  #all(
    url: URL,
    own: Readonly<Record<string, string>>,
    traceparent: string | undefined,
  ): Record<string, string> {
    const headers = { ...this.#headers };
    const cookie = this.#cookies.headerFor(url);
    if (cookie !== undefined)
      headers.cookie = headers.cookie === undefined ? cookie : `${headers.cookie}; ${cookie}`;
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

/** Throws TypeError for characters that would break the framing. */
function headerLine(name: string, value: string): string {
  validateHeaderName(name);
  validateHeaderValue(name, value);
  return `${name}: ${value}\r\n`;
}

function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${tryDecode(username)}:${tryDecode(password)}`).toString('base64')}`;
}

/** Decodes the percent encoding of a user name or password; text that is not encoded stays unchanged. */
function tryDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the response media type in lower case, without parameters; empty if missing. */
export function mediaType(head: ResponseHead): string {
  const type = head.header('content-type');
  // The usual type needs no parsing.
  if (type === undefined || type === 'application/json') return type ?? '';
  return type.split(/[;,]/, 1)[0]?.trim().toLowerCase() ?? '';
}
