// A link to a remote MCP server over the older HTTP+SSE transport (2024-11-05). The server sends its messages
// on a GET stream; its first event names the address to which the gateway posts messages. The stream is the
// session, so a broken stream closes the link. The address must have the origin of the catalog's URL, because
// the configured headers are sent there (A9, ARCHITECTURE.md).

import {
  ConnectionLostError,
  type GatewayError,
  StartFailedError,
  StoppedError,
} from '../../../base/errors/errors.ts';
import { OneWayRequest } from '../http/one-way-request.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import {
  type ErrorResponse,
  mayHaveExecuted,
  pausedAnswerError,
  plainUrl,
  refusalError,
} from '../http/remote-errors.ts';
import type { RemoteEvents } from '../http/remote-request.ts';
import { mediaType, postOf, type RemoteOptions, RemoteSession } from '../http/remote-session.ts';
import type { ResponseHead } from '../http/response-head.ts';
import type { CallId, Link, Trace } from '../link.ts';
import { OrderGate, type Outgoing } from '../streamable-http/order-gate.ts';
import { SseParser } from './sse-parser.ts';

const OPEN_TIMEOUT_MS = 10_000;
/** Time limit for one-way messages, for which no caller waits. */
const ONE_WAY_DEADLINE_MS = 30_000;

export interface SseLinkOptions extends RemoteOptions {
  /** Time for the server to name the POST address, in milliseconds. */
  readonly openTimeoutMs?: number | undefined;
}

export class SseLink implements Link, RemoteEvents {
  readonly pid = undefined;
  readonly stderrTail: readonly string[] = [];

  readonly #options: SseLinkOptions;
  readonly #session: RemoteSession;
  readonly #gate: OrderGate;
  readonly #posts = new Map<CallId, OneWayRequest>();
  readonly #parser: SseParser;
  #endpoint: URL | undefined;
  #opening: { resolve: () => void; reject: (error: GatewayError) => void } | undefined;
  #openTimer: NodeJS.Timeout | undefined;
  /** Reason why the link is closed. */
  #reason: GatewayError | undefined;

  constructor(options: SseLinkOptions) {
    this.#options = options;
    this.#session = new RemoteSession(options);
    this.#gate = new OrderGate((message, onSettled) => this.#forward(message, onSettled));
    const cursor = { lastEventId: '', retryMs: undefined };
    this.#parser = new SseParser(options.maxMessageBytes, cursor, {
      onEvent: (type, data) => this.#onEvent(type, data),
      onOversizedEvent: (type, { size, id, requestId }) => {
        if (type === 'message' && this.#reason === undefined) options.events.onOversized(size, id, requestId);
      },
    });
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  get queuedBytes(): number {
    return this.#session.queuedBytes + this.#gate.queuedBytes;
  }

  /** Resolves when the server has named the POST address. A failure closes the link. */
  async open(): Promise<void> {
    const fault = this.#reason ?? this.#session.fault();
    if (fault !== undefined) {
      this.#end(fault);
      throw fault;
    }
    const waitMs = this.#options.openTimeoutMs ?? OPEN_TIMEOUT_MS;
    this.#openTimer = setTimeout(
      () => this.#failOpen(`${this.#where()} did not name the POST address within ${waitMs} ms`),
      waitMs,
    );
    await new Promise<void>((resolve, reject) => {
      this.#opening = { resolve, reject };
      this.#session.request({ method: 'GET', headers: { accept: 'text/event-stream' } }, this);
    });
  }

  send(bytes: Buffer, call?: CallId, trace?: Trace): void {
    const reason = this.#reason ?? (this.#endpoint === undefined ? this.#notOpen() : undefined);
    if (reason === undefined) {
      this.#gate.send({ bytes, call, traceparent: trace?.traceparent });
    } else if (call !== undefined) {
      // Reported later, because callers expect no event during the call (L4, link.ts).
      queueMicrotask(() => this.#options.events.onUndelivered(call, reason, false));
    }
  }

  forget(call: CallId): void {
    if (this.#gate.forget(call)) return;
    this.#posts.get(call)?.destroy();
    this.#posts.delete(call);
  }

  ready(protocolVersion: string): void {
    this.#session.protocolVersion = protocolVersion;
    // The next message is the notification `initialized`. The order gate holds later messages until the
    // server has accepted the notification.
    this.#gate.arm();
  }

  async close(): Promise<void> {
    this.kill();
  }

  kill(): void {
    this.#end(new StoppedError(`the connection to ${this.#where()} was closed`));
  }

  onAccepted(head: ResponseHead): void {
    const type = mediaType(head);
    if (type === 'text/event-stream') return;
    this.#failOpen(
      `${this.#where()} responded with content type ${JSON.stringify(type)} instead of an event stream; check its \`url:\`, and remove \`runtime: sse\` if the server supports Streamable HTTP`,
    );
  }

  /** Returns the number of parsed bytes; fewer if `turn`, the time slice, expires. */
  onData(chunk: Buffer, turn: ReadingTurn | undefined): number {
    return this.#parser.feed(chunk, turn);
  }

  onEnd(): void {
    this.#end(new ConnectionLostError(`the server closed the stream from ${this.#where()}`));
  }

  onRefused(refusal: ErrorResponse): void {
    const cause = refusalError(refusal, this.#options.redactor);
    this.#end(new StartFailedError(cause.message, [], { cause }));
  }

  onFailed(error: GatewayError): void {
    this.#end(error);
  }

  #onEvent(type: string, data: Buffer): void {
    if (this.#reason !== undefined) return;
    if (type === 'message') this.#options.events.onMessage(data);
    else if (type === 'endpoint' && this.#endpoint === undefined) this.#onEndpoint(data.toString('utf8'));
  }

  #onEndpoint(address: string): void {
    const base = this.#session.url;
    if (!URL.canParse(address, base.href)) {
      this.#failOpen(`${this.#where()} named a POST address that is not a URL`);
      return;
    }
    const endpoint = new URL(address, base);
    if (endpoint.origin !== base.origin) {
      this.#failOpen(
        `${this.#where()} named the POST address ${plainUrl(endpoint)}, which has another origin: the configured headers are not sent there; if the address is right, set \`url:\` to that origin`,
      );
      return;
    }
    // User name and password in the catalog's URL apply to the whole origin.
    endpoint.username = base.username;
    endpoint.password = base.password;
    this.#endpoint = endpoint;
    clearTimeout(this.#openTimer);
    this.#opening?.resolve();
    this.#opening = undefined;
  }

  #forward({ bytes, call, traceparent }: Outgoing, onSettled: () => void): void {
    const settle = (report?: (call: CallId) => void): void => {
      if (call !== undefined && this.#posts.delete(call)) report?.(call);
      onSettled();
    };
    const { events } = this.#options;
    const post = new OneWayRequest(
      this.#session,
      { ...postOf(bytes, traceparent), url: this.#endpoint },
      {
        onDelivered: () => settle(),
        onRefused: (refusal) => settle((id) => this.#onPostRefused(refusal, id)),
        onFailed: (error, wasSent) => settle((id) => events.onUndelivered(id, error, wasSent)),
      },
      call === undefined ? ONE_WAY_DEADLINE_MS : undefined,
    );
    if (call !== undefined) this.#posts.set(call, post);
  }

  #onPostRefused(refusal: ErrorResponse, call: CallId): void {
    const { events, isAnswerTo, maxMessageBytes, redactor } = this.#options;
    const { body, isWhole, status } = refusal;
    const isAnswer = isWhole && body.length <= maxMessageBytes && isAnswerTo(body, call);
    const error = isAnswer ? pausedAnswerError(refusal, redactor) : refusalError(refusal, redactor);
    if (error === undefined) events.onMessage(body, call);
    else events.onUndelivered(call, error, mayHaveExecuted(status));
  }

  #failOpen(message: string): void {
    this.#end(new StartFailedError(this.#options.redactor.redact(message)));
  }

  #end(reason: GatewayError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    clearTimeout(this.#openTimer);
    for (const { call } of this.#gate.close())
      if (call !== undefined) this.#options.events.onUndelivered(call, reason, false);
    for (const post of this.#posts.values()) post.destroy();
    this.#posts.clear();
    this.#session.destroy();
    if (this.#opening !== undefined) this.#rejectOpening(this.#opening.reject, reason);
    this.#options.events.onEnd(reason);
  }

  #rejectOpening(reject: (error: GatewayError) => void, reason: GatewayError): void {
    this.#opening = undefined;
    reject(
      reason instanceof StartFailedError
        ? reason
        : new StartFailedError(reason.message, [], { cause: reason }),
    );
  }

  #notOpen(): ConnectionLostError {
    return new ConnectionLostError(`the stream from ${this.#where()} is not open yet`);
  }

  #where(): string {
    return this.#options.redactor.redact(plainUrl(this.#session.url));
  }
}
