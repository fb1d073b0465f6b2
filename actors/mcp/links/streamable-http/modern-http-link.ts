// A link to a remote MCP server of the modern era (2026-07-28) over Streamable HTTP. There is no session: each message
// is one POST that says everything about itself in its headers, and what the server has to tell comes on the answer to
// a request, which may be a stream without end (`subscriptions/listen`). A broken stream cannot be resumed.
// Requests fail one by one; the link ends only by `close`, `kill`, or an address that `open` refuses.
// L1 and L2 hold because everything that can still call back is kept here and destroyed before `onEnd`.

import { LinkedList } from '../../../base/bounds/linked-list.ts';
import { type GatewayError, InternalError, StoppedError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { modernVersion } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { OneWayRequest } from '../http/one-way-request.ts';
import { plainUrl } from '../http/remote-errors.ts';
import { postOf, type RemoteOptions, RemoteSession, type RequestParts } from '../http/remote-session.ts';
import type { CallId, Link, Trace } from '../link.ts';
import { callOf, HttpCall, type HttpCallOptions } from './http-call.ts';
import { OrderGate, type Outgoing } from './order-gate.ts';
import { metadataHeaders, type SchemaLookup } from './request-metadata.ts';

/** A notification gets no more than this to be taken; nobody else watches over it. */
const NOTE_DEADLINE_MS = 30_000;

export interface ModernHttpOptions extends RemoteOptions {
  /** For the headers that a tool's schema asks for. */
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
  /** Why nothing is sent any more. */
  #reason: GatewayError | undefined;

  constructor(options: ModernHttpOptions) {
    this.#options = options;
    this.#callOptions = { ...options, canResume: false };
    this.#session = new RemoteSession(options);
    // With a version from the start it is past the handshake, and takes no session id from any answer.
    this.#session.protocolVersion = modernVersion;
    // Never armed: there is no handshake to wait for. It keeps notifications in order, and few (A8).
    this.#gate = new OrderGate((message, onSettled) => this.#forward(message, onSettled));
  }

  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  get queuedBytes(): number {
    return this.#session.queuedBytes + this.#gate.queuedBytes;
  }

  /** Only the address and the headers are checked: nothing is sent. A failure ends the link as well. */
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

  /** Closing the stream of a request, or its connection before there is one, is how this era cancels. */
  forget(call: CallId): void {
    const found = callOf(this.#calls, call);
    if (found === undefined) return;
    found.destroy();
    this.#calls.delete(found);
  }

  ready(): void {}

  async close(): Promise<void> {
    this.kill();
  }

  kill(): void {
    const where = plainUrl(this.#session.url);
    this.#end(new StoppedError(this.#options.redactor.redact(`the connection to ${where} was closed`)));
  }

  #forward({ bytes, call, traceparent }: Outgoing, onSettled: () => void): void {
    let envelope: Envelope;
    let post: RequestParts;
    try {
      envelope = readServerMessage(bytes);
      post = postOf(bytes, traceparent, metadataHeaders(envelope, this.#options.inputSchemaOf));
    } catch (error) {
      if (call !== undefined)
        this.#fail(call, new InternalError('a message was not fit to be sent', { cause: error }));
      onSettled();
      return;
    }
    if (call !== undefined) this.#sendCall(post, call);
    else if (isOfThisEra(envelope)) this.#sendNote(post, onSettled);
    else onSettled();
  }

  #sendCall(post: RequestParts, call: CallId): void {
    const { events } = this.#options;
    const request = new HttpCall(this.#session, this.#callOptions, call, {
      onMessage: (message) => events.onMessage(message, call),
      onOversized: (size, id, requestId) => events.onOversized(size, id, requestId, call),
      onUndelivered: (error, wasCarriedOut) => events.onUndelivered(call, error, wasCarriedOut),
      // Without a session id none can be lost.
      onSessionGone: () => {},
      onOver: () => this.#calls.delete(request),
    });
    this.#calls.add(request);
    request.start(post);
  }

  #sendNote(post: RequestParts, onSettled: () => void): void {
    const settled = { onTaken: onSettled, onRefused: onSettled, onFailed: onSettled };
    new OneWayRequest(this.#session, post, settled, NOTE_DEADLINE_MS);
  }

  /** Tells, later (L4), that the request was not sent. */
  #fail(call: CallId, error: GatewayError): void {
    queueMicrotask(() => this.#options.events.onUndelivered(call, error, false));
  }

  #end(reason: GatewayError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#gate.close();
    for (const call of this.#calls) call.destroy();
    this.#session.destroy();
    this.#options.events.onEnd(reason);
  }
}

/** Clients of this era send no answers, and cancel by closing the stream. */
function isOfThisEra({ kind, method }: Envelope): boolean {
  return kind === 'notification' && method !== 'notifications/cancelled';
}
