// A link to a remote MCP server over Streamable HTTP (2025-03-26 to 2025-11-25); one link is one session there.
// Requests fail one by one and the link lives on; it ends by itself only when the server has lost the session.
// L1 and L2 hold because everything that can still call back is kept here and destroyed before `onEnd`.

import { LinkedList } from '../../../base/bounds/linked-list.ts';
import { type GatewayError, StoppedError } from '../../../base/errors/errors.ts';
import { OneWayRequest } from '../http/one-way-request.ts';
import { plainUrl, sessionGoneError } from '../http/remote-errors.ts';
import { postOf, type RemoteOptions, RemoteSession } from '../http/remote-session.ts';
import type { CallId, Link, Trace } from '../link.ts';
import { callOf, HttpCall, type HttpCallOptions } from './http-call.ts';
import { OrderGate, type Outgoing } from './order-gate.ts';
import { ServerStream } from './server-stream.ts';
import { isSessionGone } from './session-gone.ts';

/** A notification gets no more than this to be taken; nobody else watches over it. */
const NOTE_DEADLINE_MS = 30_000;
const DELETE_DEADLINE_MS = 2_000;
/** Other requests on their way when the session is lost get this long to learn that they were refused, too. */
const EXPIRY_GRACE_MS = 1_000;

export class HttpLink implements Link {
  readonly pid = undefined;
  readonly stderrTail: readonly string[] = [];

  readonly #options: RemoteOptions;
  readonly #session: RemoteSession;
  readonly #gate: OrderGate;
  readonly #stream: ServerStream;
  readonly #callOptions: HttpCallOptions;
  readonly #calls = new LinkedList<HttpCall>();
  readonly #ended: Promise<void>;
  #resolveEnded: () => void = () => {};
  #state: 'open' | 'expired' | 'closing' | 'ended' = 'open';
  /** Why nothing is sent any more; set when `#state` leaves `open`. */
  #reason: GatewayError = new StoppedError('the link is closed');
  #graceTimer: NodeJS.Timeout | undefined;
  #streamTimer: NodeJS.Immediate | undefined;

  constructor(options: RemoteOptions) {
    this.#options = options;
    this.#callOptions = { ...options, canResume: true };
    this.#session = new RemoteSession(options);
    this.#gate = new OrderGate((message, onSettled) => this.#forward(message, onSettled));
    this.#stream = new ServerStream(this.#session, options, {
      onMessage: (bytes) => options.events.onMessage(bytes),
      onOversized: (size, id, requestId) => options.events.onOversized(size, id, requestId),
      onSessionGone: (error) => this.#expire(error),
    });
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  get isOver(): boolean {
    return this.#state !== 'open';
  }

  get queuedBytes(): number {
    return this.#session.queuedBytes + this.#gate.queuedBytes;
  }

  /**
   * The first contact is the `initialize` request; here only the address and the headers are checked. A failure
   * ends the link as well.
   */
  async open(): Promise<void> {
    const error = this.#session.fault();
    if (error === undefined) return;
    this.#stopSending('closing', error);
    this.#end();
    throw error;
  }

  send(bytes: Buffer, call?: CallId, trace?: Trace): void {
    if (this.#state === 'open') {
      this.#gate.send({ bytes, call, traceparent: trace?.traceparent });
    } else if (call !== undefined) {
      queueMicrotask(() => this.#options.events.onUndelivered(call, this.#reason, false));
    }
  }

  forget(call: CallId): void {
    if (this.#gate.forget(call)) return;
    const found = callOf(this.#calls, call);
    if (found === undefined) return;
    found.destroy();
    this.#over(found);
  }

  ready(protocolVersion: string): void {
    this.#session.protocolVersion = protocolVersion;
    this.#gate.arm();
    // Later, so that an `initialized` sent right after this comes before the stream.
    this.#streamTimer ??= setImmediate(() => this.#gate.after(() => this.#stream.open()));
  }

  close(): Promise<void> {
    if (this.#state === 'expired') this.#end();
    if (this.#state !== 'open') return this.#ended;
    this.#stopSending('closing', new StoppedError(this.#tale('was closed')));
    if (this.#session.id === undefined) this.#end();
    else this.#deleteSession();
    return this.#ended;
  }

  kill(): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'open') this.#stopSending('closing', new StoppedError(this.#tale('was ended')));
    this.#end();
  }

  #forward({ bytes, call, traceparent }: Outgoing, onSettled: () => void): void {
    if (call === undefined) {
      this.#sendNote(bytes, traceparent, onSettled);
      return;
    }
    const { events } = this.#options;
    const request = new HttpCall(this.#session, this.#callOptions, call, {
      onMessage: (message) => events.onMessage(message, call),
      onOversized: (size, id, requestId) => events.onOversized(size, id, requestId, call),
      // While we close, a broken stream is our own doing, and `onEnd` tells about it.
      onUndelivered: (error, wasCarriedOut) => {
        if (this.#state !== 'closing') events.onUndelivered(call, error, wasCarriedOut);
      },
      onSessionGone: (error) => this.#expire(error),
      onOver: () => this.#over(request),
    });
    this.#calls.add(request);
    request.start(postOf(bytes, traceparent));
  }

  #sendNote(body: Buffer, traceparent: string | undefined, onSettled: () => void): void {
    new OneWayRequest(
      this.#session,
      postOf(body, traceparent),
      {
        onTaken: onSettled,
        onFailed: onSettled,
        onRefused: (refusal) => {
          if (this.#session.id !== undefined && isSessionGone(refusal, false))
            this.#expire(sessionGoneError(refusal, this.#options.redactor));
          else onSettled();
        },
      },
      NOTE_DEADLINE_MS,
    );
  }

  #deleteSession(): void {
    const end = (): void => this.#end();
    new OneWayRequest(
      this.#session,
      { method: 'DELETE', headers: { accept: 'application/json, text/event-stream' } },
      { onTaken: end, onRefused: end, onFailed: end },
      DELETE_DEADLINE_MS,
    );
  }

  #over(call: HttpCall): void {
    this.#calls.delete(call);
    this.#endIfSettled();
  }

  #expire(error: GatewayError): void {
    if (this.#state !== 'open') return;
    this.#stopSending('expired', error);
    this.#graceTimer = setTimeout(() => this.#end(), EXPIRY_GRACE_MS);
    this.#endIfSettled();
  }

  #endIfSettled(): void {
    if (this.#state !== 'expired') return;
    for (const call of this.#calls) if (call.isUnanswered) return;
    this.#end();
  }

  #stopSending(state: 'expired' | 'closing', reason: GatewayError): void {
    this.#state = state;
    this.#reason = reason;
    clearImmediate(this.#streamTimer);
    this.#stream.close();
    for (const { call } of this.#gate.close())
      if (call !== undefined) this.#options.events.onUndelivered(call, reason, false);
  }

  #end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    clearTimeout(this.#graceTimer);
    for (const call of this.#calls) call.destroy();
    this.#session.destroy();
    this.#options.events.onEnd(this.#reason);
    this.#resolveEnded();
  }

  #tale(what: string): string {
    return this.#options.redactor.redact(`the session with ${plainUrl(this.#session.url)} ${what}`);
  }
}
