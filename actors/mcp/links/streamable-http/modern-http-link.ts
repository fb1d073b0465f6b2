// A link to a remote MCP server over Streamable HTTP in the modern era (2026-07-28), without a session: each
// message is a POST that repeats its metadata in headers. The server sends messages only on responses, which
// may be endless streams (`subscriptions/listen`) and cannot be resumed. A failed request does not close the
// link. L1 and L2 of link.ts (`onEnd` comes last, and nothing remains) hold because all objects with pending
// callbacks are stored here and destroyed before `onEnd`.

import { LinkedList } from '../../../base/bounds/linked-list.ts';
import { type GatewayError, InternalError, StoppedError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { modernVersion } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { OneWayRequest } from '../http/one-way-request.ts';
import { plainUrl } from '../http/remote-errors.ts';
import type { RequestParts } from '../http/remote-request.ts';
import { postOf, type RemoteOptions, RemoteSession } from '../http/remote-session.ts';
import type { CallId, Link, Trace } from '../link.ts';
import { findCall, HttpCall, type HttpCallOptions } from './http-call.ts';
import { OrderGate, type Outgoing } from './order-gate.ts';
import { metadataHeaders, type SchemaLookup } from './request-metadata.ts';

/** Time limit for one-way messages, for which no caller waits. */
const ONE_WAY_DEADLINE_MS = 30_000;

export interface ModernHttpOptions extends RemoteOptions {
  /** Looks up schemas with header annotations. */
  readonly inputSchemaOf: SchemaLookup;
}

export class ModernHttpLink implements Link {
  readonly pid = undefined;
  readonly stderrTail: readonly string[] = [];

  readonly #options: ModernHttpOptions;
  readonly #session: RemoteSession;
  readonly #gate: OrderGate;
  readonly #callOptions: HttpCallOptions;
  readonly #calls = new LinkedList<HttpCall>();
  /** Reason why sending has stopped. */
  #reason: GatewayError | undefined;

  constructor(options: ModernHttpOptions) {
    this.#options = options;
    this.#callOptions = { ...options, canResume: false };
    this.#session = new RemoteSession(options);
    // The version is set from the start, so no session id is read from responses.
    this.#session.protocolVersion = modernVersion;
    // `arm` is not called: it holds messages during a handshake, which this era does not have. The order gate
    // only keeps notifications in order and limits their number (A8, ARCHITECTURE.md).
    this.#gate = new OrderGate((message, onSettled) => this.#forward(message, onSettled));
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  get queuedBytes(): number {
    return this.#session.queuedBytes + this.#gate.queuedBytes;
  }

  /** Checks the address and the headers without sending anything. A failure closes the link. */
  async open(): Promise<void> {
    const error = this.#reason ?? this.#session.fault();
    if (error === undefined) return;
    this.#end(error);
    throw error;
  }

  send(bytes: Buffer, call?: CallId, trace?: Trace): void {
    if (this.#reason === undefined) this.#gate.send({ bytes, call, traceparent: trace?.traceparent });
    else if (call !== undefined) this.#fail(call, this.#reason);
  }

  /** Cancels a request by closing its stream or connection, as specified for this era. */
  forget(call: CallId): void {
    const pending = findCall(this.#calls, call);
    if (pending === undefined) return;
    pending.destroy();
    this.#calls.delete(pending);
  }

  ready(): void {}

  async close(): Promise<void> {
    this.kill();
  }

  kill(): void {
    const address = plainUrl(this.#session.url);
    this.#end(new StoppedError(this.#options.redactor.redact(`the connection to ${address} was closed`)));
  }

  #forward({ bytes, call, traceparent }: Outgoing, onSettled: () => void): void {
    let envelope: Envelope;
    let post: RequestParts;
    try {
      envelope = readServerMessage(bytes);
      post = postOf(bytes, traceparent, metadataHeaders(envelope, this.#options.inputSchemaOf));
    } catch (error) {
      if (call !== undefined)
        this.#fail(call, new InternalError('could not send a message', { cause: error }));
      onSettled();
      return;
    }
    if (call !== undefined) this.#sendCall(post, call);
    else if (isOfThisEra(envelope)) this.#sendOneWay(post, onSettled);
    else onSettled();
  }

  #sendCall(post: RequestParts, call: CallId): void {
    const { events } = this.#options;
    const request = new HttpCall(this.#session, this.#callOptions, call, {
      onMessage: (message) => events.onMessage(message, call),
      onOversized: (size, id, requestId) => events.onOversized(size, id, requestId, call),
      onUndelivered: (error, mayHaveRun) => events.onUndelivered(call, error, mayHaveRun),
      // There is no session to lose.
      onSessionLost: () => {},
      onOver: () => this.#calls.delete(request),
    });
    this.#calls.add(request);
    request.start(post);
  }

  #sendOneWay(post: RequestParts, onSettled: () => void): void {
    const oneWayEvents = { onDelivered: onSettled, onRefused: onSettled, onFailed: onSettled };
    new OneWayRequest(this.#session, post, oneWayEvents, ONE_WAY_DEADLINE_MS);
  }

  /** Reports later (L4, link.ts) that the request was not sent. */
  #fail(call: CallId, error: GatewayError): void {
    queueMicrotask(() => this.#options.events.onUndelivered(call, error, false));
  }

  #end(reason: GatewayError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    // The gate holds no requests here, only notifications, for which no caller waits.
    this.#gate.close();
    for (const call of this.#calls) call.destroy();
    this.#session.destroy();
    this.#options.events.onEnd(reason);
  }
}

/**
 * Returns true if the modern era allows the message: clients send no responses, and cancel by closing the
 * stream.
 */
function isOfThisEra({ kind, method }: Envelope): boolean {
  return kind === 'notification' && method !== 'notifications/cancelled';
}
