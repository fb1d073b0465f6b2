// What all requests to one remote server share: address, configured headers, pool of sockets, and the session
// and protocol version once they are known. It knows every open exchange, so that `destroy` leaves none (L2).

import { Agent as HttpAgent, type IncomingMessage, validateHeaderName, validateHeaderValue } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { StartFailedError } from '../errors.ts';
import type { CallId, LinkEvents } from './link.ts';
import { plainUrl, type Redactor } from './remote-errors.ts';
import { type RemoteHandler, RemoteRequest, type RemoteRequestOptions } from './remote-request.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Below the five seconds after which many servers close an idle socket: a request written then would be lost. */
const IDLE_SOCKET_MS = 4_000;
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

/** These belong to the transport; configured ones would break the framing of the request. */
const RESERVED = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
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
  readonly events: LinkEvents;
}

export interface RequestParts {
  readonly method: RemoteRequestOptions['method'];
  /** Where other than the address of the catalog. */
  readonly url?: URL | undefined;
  /** Beyond the configured and the session's headers; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
}

/** The POST that carries one message, with headers of its own; `traceparent` is a W3C trace context header. */
export function postOf(
  body: Buffer,
  traceparent: string | undefined,
  own: Readonly<Record<string, string>> = {},
): RequestParts {
  const headers: Record<string, string> = {
    ...own,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
  if (traceparent !== undefined) headers.traceparent = traceparent;
  return { method: 'POST', headers, body };
}

export class RemoteSession {
  readonly url: URL;
  id: string | undefined;
  protocolVersion: string | undefined;

  readonly #options: RemoteOptions;
  readonly #agent: HttpAgent;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #requests = new Set<RemoteRequest>();

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.url = options.url;
    const Agent = options.url.protocol === 'https:' ? HttpsAgent : HttpAgent;
    this.#agent = new Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS, scheduling: 'lifo' });
    const headers: Record<string, string> = { 'user-agent': 'actor-gateway' };
    for (const [name, value] of Object.entries(options.headers)) {
      if (!RESERVED.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
    }
    this.#headers = headers;
  }

  get queuedBytes(): number {
    let sum = 0;
    for (const request of this.#requests) sum += request.unsentBytes;
    return sum;
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

  request(parts: RequestParts, handler: RemoteHandler): RemoteRequest {
    const headers: Record<string, string> = { ...this.#headers, 'accept-encoding': 'identity' };
    if (this.id !== undefined) headers['mcp-session-id'] = this.id;
    if (this.protocolVersion !== undefined) headers['mcp-protocol-version'] = this.protocolVersion;
    Object.assign(headers, parts.headers);
    const request = new RemoteRequest(
      {
        url: parts.url ?? this.url,
        method: parts.method,
        headers,
        body: parts.body,
        agent: this.#agent,
        connectTimeoutMs: this.#options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
        redactor: this.#options.redactor,
        onClose: () => this.#requests.delete(request),
      },
      handler,
    );
    this.#requests.add(request);
    return request;
  }

  /** Takes the session id from the answer to `initialize`; later answers cannot change it. */
  learn(response: IncomingMessage): void {
    const id = response.headers['mcp-session-id'];
    if (this.id !== undefined || this.protocolVersion !== undefined) return;
    // An id that breaks the rule of the specification (visible ASCII) cannot be sent back: as if there was none.
    if (typeof id === 'string' && SESSION_ID.test(id)) this.id = id;
  }

  destroy(): void {
    for (const request of this.#requests) request.destroy();
    this.#agent.destroy();
  }
}

/** The media type of an answer, without parameters, in lower case; empty where it names none. */
export function mediaType(response: IncomingMessage): string {
  return (response.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
