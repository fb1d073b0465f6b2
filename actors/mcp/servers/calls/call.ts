// A client's request to a server. Every call completes exactly once: with a response, an error, its deadline,
// or a cancellation by the client (A2, ARCHITECTURE.md). A call is retried once if it was certainly not
// executed, and never if the server may have executed it.

import type { Share } from '../../../base/bounds/budget.ts';
import { DeadlineError, type GatewayError } from '../../../base/errors/errors.ts';
import type { Deadlines, TimedEntry } from '../../../base/time/deadlines.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Era, metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import type { Link, Trace } from '../../links/link.ts';
import type { CallOwner, ServerPeer } from './owner.ts';

/** Receives the messages of a call. */
export interface CallExchange {
  /** Receives the server's response. It still contains the gateway's request id. */
  answer(envelope: Envelope): void;
  /** Receives a message about this call that precedes the response, ready for the client. */
  relay(message: Buffer): void;
  /** The call failed; there is no response of the server. `isUnsent`: the request was certainly not sent. */
  fail(error: GatewayError, isUnsent?: boolean): void;
  /** The client cancelled the call; it receives no response. */
  drop(): void;
}

export type CallOutcome = 'answered' | 'failed' | 'dropped';

/** Time limits per call, in milliseconds. Progress restarts `timeoutMs`, but `maxMs` is the total limit. */
export interface CallTimeouts {
  readonly timeoutMs: number;
  readonly maxMs: number;
}

/** A connection, as seen by calls. */
export interface CallConnection extends ServerPeer {
  readonly link: Pick<Link, 'isOver'>;
  send(call: Call): void;
  /** Notifies the server that the response is no longer needed. */
  abandon(call: Call, reason: string): void;
  /** Sends a request of the gateway's own. */
  request(method: string, params: object | undefined, timeoutMs: number): Promise<Envelope>;
}

/** A pool member (pool/pool-member.ts), as seen by calls. */
export interface CallMember {
  connection: CallConnection;
  /** True after the handshake: calls may be sent. */
  isOpen: boolean;
  /** True when the gateway closes the connection; otherwise a closed connection is a crash. */
  isClosing: boolean;
  /** Number of clients' calls in flight. */
  inFlight: number;
  /** performance.now() of the last client call. */
  lastUsedAt: number;
  /** Number of reconnects since the last response, because the remote server had lost the session. */
  renewals: number;
}

/** A request to a server. */
export interface CallRequest {
  readonly envelope: Envelope;
  /** Edits of the message, except id and progress token. */
  readonly edits?: readonly Edit[] | undefined;
  readonly exchange: CallExchange;
  /** Client session of the request; undefined for stateless clients and the gateway itself. */
  readonly owner?: CallOwner | undefined;
  /** Protocol era of the connection and of the message. @default 'legacy' */
  readonly era?: Era | undefined;
  readonly trace?: Trace | undefined;
  /** True if only the edits add a log level, so it is not visible in the envelope. */
  readonly asksForLog?: boolean | undefined;
  /**
   * The call that created a task, if this call awaits its result: on the same connection, with the progress
   * token of that call, and with `maxMs` as deadline.
   */
  readonly continues?: Call | undefined;
  /**
   * Connection to the process that runs the requested task. At a local server no other connection is used.
   */
  readonly home?: CallMember | undefined;
}

/** Settings shared by all calls to a server. */
export interface CallTerms {
  readonly server: string;
  readonly timeouts: CallTimeouts;
  /** Shared timer for `timeoutMs`. Without it the call uses its own. */
  readonly deadlines?: Deadlines<Call>;
  readonly onEnd?: OnCallEnd;
  /**
   * Returns the failure of the server if it failed after `since` (performance.now() milliseconds) and has not
   * recovered. Called when a call times out.
   */
  readonly failureSince?: (since: number) => GatewayError | undefined;
}

/** `answer` is the server's response, if any. */
export type OnCallEnd = (call: Call, outcome: CallOutcome, answer?: Envelope) => void;

export class Call implements TimedEntry<Call> {
  readonly envelope: Envelope;
  readonly edits: readonly Edit[];
  readonly owner: CallOwner | undefined;
  readonly era: Era;
  readonly trace: Trace | undefined;
  readonly continues: Call | undefined;
  readonly home: CallMember | undefined;
  readonly acceptedAt = performance.now();
  /** Request id on the connection, once sent. */
  id = 0;
  /** Connection on which the call was sent; the server may have executed it. */
  connection: CallConnection | undefined;
  /** Pool member of the connection while the call is in flight. */
  member: CallMember | undefined;
  /** The session's share of the server's in-flight slots; written by InFlight only. */
  share: Share | undefined;
  /** Number of times the call was sent. */
  attempts = 0;
  isDone = false;
  /** Written by the shared deadlines, like the two links below. */
  dueAt = 0;
  previous: Call | undefined;
  next: Call | undefined;
  /** Called when the call has completed. Replaced when another server takes over the call. */
  onEnd: OnCallEnd | undefined;

  readonly #exchange: CallExchange;
  readonly #asksForLog: boolean;
  readonly #timeouts: CallTimeouts;
  readonly #terms: CallTerms;
  readonly #deadlines: Deadlines<Call> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** True if the timer limits the total time, so progress does not restart it. */
  #hasLastTimer = false;
  #suspendedAt: number | undefined;
  #suspendedMs = 0;

  constructor(request: CallRequest, terms: CallTerms) {
    this.envelope = request.envelope;
    this.edits = request.edits ?? none;
    this.owner = request.owner;
    this.era = request.era ?? 'legacy';
    this.trace = request.trace;
    this.#exchange = request.exchange;
    this.#asksForLog = request.asksForLog === true;
    this.continues = request.continues;
    this.home = request.home;
    this.#terms = terms;
    const { maxMs } = terms.timeouts;
    this.#timeouts = this.continues === undefined ? terms.timeouts : { timeoutMs: maxMs, maxMs };
    this.#deadlines = this.continues === undefined ? terms.deadlines : undefined;
    this.onEnd = terms.onEnd;
    this.#startTimer(this.acceptedAt);
  }

  /** Pauses the deadline until `resume`, while the client answers a server request. */
  suspend(): void {
    this.#stopTimer();
    this.#suspendedAt ??= performance.now();
  }

  /** True if the request sets a log level (modern era), so log messages may concern it. */
  get receivesLog(): boolean {
    return this.#asksForLog || this.envelope.meta(metaKeys.logLevel) !== undefined;
  }

  /** True while the client answers a server request. */
  get isSuspended(): boolean {
    return this.#suspendedAt !== undefined;
  }

  /** Restarts the deadline. */
  resume(): void {
    if (this.isDone || this.#suspendedAt === undefined) return;
    const now = performance.now();
    this.#suspendedMs += now - this.#suspendedAt;
    this.#suspendedAt = undefined;
    this.#startTimer(now);
  }

  /** Completes the call with the server's response. */
  answer(envelope: Envelope): void {
    if (!this.#end(envelope.error === undefined ? 'answered' : 'failed', envelope)) return;
    this.#exchange.answer(envelope);
  }

  fail(error: GatewayError): void {
    if (!this.#end('failed')) return;
    this.#exchange.fail(error, this.connection === undefined);
  }

  /** Forwards a message that precedes the response. */
  relay(message: Buffer): void {
    if (!this.isDone) this.#exchange.relay(message);
  }

  /** Cancels the call for the client and notifies the server. */
  cancel(reason = 'the client cancelled the request'): void {
    if (!this.#end('dropped')) return;
    this.connection?.abandon(this, reason);
    this.#exchange.drop();
  }

  /** Restarts the deadline after progress, up to the maximum. */
  touch(): void {
    if (this.isDone || this.#hasLastTimer || this.#suspendedAt !== undefined) return;
    const now = performance.now();
    const { timeoutMs, maxMs } = this.#timeouts;
    const remainingMs = maxMs - (now - this.acceptedAt - this.#suspendedMs);
    this.#stopTimer();
    if (remainingMs >= timeoutMs) {
      this.#startTimer(now);
      return;
    }
    this.#timer = setTimeout(expire, Math.max(0, remainingMs), this);
    this.#hasLastTimer = true;
  }

  /** Fails the call at its deadline. */
  expire(): void {
    const seconds = Math.round((performance.now() - this.acceptedAt) / 100) / 10;
    this.connection?.abandon(this, 'the deadline has passed');
    const message = `${this.envelope.method} on server ${this.#terms.server} timed out after ${seconds} s`;
    this.fail(new DeadlineError(`${message} ${this.#timeoutReason()}`));
  }

  #timeoutReason(): string {
    const advice =
      'raise request_timeout_seconds (progress) or max_request_seconds of this server if it needs longer';
    if (this.connection !== undefined) return `without a response; ${advice}`;
    const failure = this.#terms.failureSince?.(this.acceptedAt);
    return failure === undefined
      ? `while waiting to be sent; ${advice}`
      : `while the server was being started: ${failure.message}`;
  }

  #startTimer(now: number): void {
    this.#hasLastTimer = false;
    const { timeoutMs } = this.#timeouts;
    if (!Number.isFinite(timeoutMs)) return;
    if (this.#deadlines !== undefined) this.#deadlines.add(this, now);
    else this.#timer = setTimeout(expire, timeoutMs, this);
  }

  #stopTimer(): void {
    this.#deadlines?.delete(this);
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Completes the call. Returns false if it was already complete. */
  #end(outcome: CallOutcome, answer?: Envelope): boolean {
    if (this.isDone) return false;
    this.isDone = true;
    this.#stopTimer();
    this.onEnd?.(this, outcome, answer);
    return true;
  }
}

const none: readonly Edit[] = [];

function expire(call: Call): void {
  call.expire();
}
