// A link to a remote MCP server over Streamable HTTP with sessions (2025-03-26 to 2025-11-25). Each link is
// one remote session. A failed request does not close the link; only a lost session does. L1 and L2 of
// link.ts (`onEnd` comes last, and nothing remains) hold because all objects with pending callbacks are
// stored here and destroyed before `onEnd`.

import { LinkedList } from '../../../base/bounds/linked-list.ts';
import { type GatewayError, StoppedError } from '../../../base/errors/errors.ts';
import { OneWayRequest } from '../http/one-way-request.ts';
import { plainUrl, sessionLostError } from '../http/remote-errors.ts';
import { postOf, type RemoteOptions, RemoteSession } from '../http/remote-session.ts';
import type { CallId, Link, Trace } from '../link.ts';
import { findCall, HttpCall, type HttpCallOptions } from './http-call.ts';
import { OrderGate, type Outgoing } from './order-gate.ts';
import { ServerStream } from './server-stream.ts';
import { isSessionLost } from './session-loss.ts';

/** Time limit for one-way messages, for which no caller waits. */
const ONE_WAY_DEADLINE_MS = 30_000;
const DELETE_DEADLINE_MS = 2_000;
/** Grace period for requests in flight when the session is lost: each may get its own refusal. */
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
  /** `expired`: the server has lost the session, and requests in flight have a grace period. */
  #state: 'open' | 'expired' | 'closing' | 'ended' = 'open';
  /** Reason why sending has stopped; set when `#state` leaves `open`. */
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
      onSessionLost: (error) => this.#expire(error),
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

  /** Checks the address and the headers; nothing is sent before `initialize`. A failure closes the link. */
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
      // Reported later, because callers expect no event during the call (L4, link.ts).
      queueMicrotask(() => this.#options.events.onUndelivered(call, this.#reason, false));
    }
  }

  forget(call: CallId): void {
    if (this.#gate.forget(call)) return;
    const pending = findCall(this.#calls, call);
    if (pending === undefined) return;
    pending.destroy();
    this.#onCallOver(pending);
  }

  ready(protocolVersion: string): void {
    this.#session.protocolVersion = protocolVersion;
    // The next message is the notification `initialized`. The order gate holds later messages until the
    // server has accepted the notification.
    this.#gate.arm();
    // The stream is opened later, because the caller sends `initialized` after this call.
    this.#streamTimer ??= setImmediate(() => this.#gate.after(() => this.#stream.open()));
  }

  close(): Promise<void> {
    if (this.#state === 'expired') this.#end();
    if (this.#state !== 'open') return this.#ended;
    this.#stopSending('closing', new StoppedError(this.#describe('was closed')));
    if (this.#session.id === undefined) this.#end();
    else this.#deleteSession();
    return this.#ended;
  }

  kill(): void {
    if (this.#state === 'ended') return;
    if (this.#state === 'open') this.#stopSending('closing', new StoppedError(this.#describe('was ended')));
    this.#end();
  }

  #forward({ bytes, call, traceparent }: Outgoing, onSettled: () => void): void {
    if (call === undefined) {
      this.#sendOneWay(bytes, traceparent, onSettled);
      return;
    }
    const { events } = this.#options;
    const request = new HttpCall(this.#session, this.#callOptions, call, {
      onMessage: (message) => events.onMessage(message, call),
      onOversized: (size, id, requestId) => events.onOversized(size, id, requestId, call),
      // While closing, the gateway itself breaks the streams; `onEnd` reports that.
      onUndelivered: (error, mayHaveRun) => {
        if (this.#state !== 'closing') events.onUndelivered(call, error, mayHaveRun);
      },
      onSessionLost: (error) => this.#expire(error),
      onOver: () => this.#onCallOver(request),
    });
    this.#calls.add(request);
    request.start(postOf(bytes, traceparent));
  }

  #sendOneWay(body: Buffer, traceparent: string | undefined, onSettled: () => void): void {
    new OneWayRequest(
      this.#session,
      postOf(body, traceparent),
      {
        onDelivered: onSettled,
        onFailed: onSettled,
        onRefused: (refusal) => {
          // A one-way message gets no JSON-RPC response, so the body is not one.
          if (this.#session.id !== undefined && isSessionLost(refusal, false))
            this.#expire(sessionLostError(refusal, this.#options.redactor));
          else onSettled();
        },
      },
      ONE_WAY_DEADLINE_MS,
    );
  }

  #deleteSession(): void {
    const end = (): void => this.#end();
    new OneWayRequest(
      this.#session,
      { method: 'DELETE', headers: { accept: 'application/json, text/event-stream' } },
      { onDelivered: end, onRefused: end, onFailed: end },
      DELETE_DEADLINE_MS,
    );
  }

  #onCallOver(call: HttpCall): void {
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

  #describe(what: string): string {
    return this.#options.redactor.redact(`the session with ${plainUrl(this.#session.url)} ${what}`);
  }
}
