// A call: a client's request to a server, from its acceptance by the gateway to its response. Every call
// completes exactly once: with a response, an error, its deadline, or a cancellation by the client (A2,
// ARCHITECTURE.md). A call is retried once if it was certainly not executed, and never if the server may have
// executed it.

import type { Share } from '../../../base/bounds/budget.ts';
import { DeadlineError, type GatewayError } from '../../../base/errors/errors.ts';
import type { Deadlines, TimedEntry } from '../../../base/time/deadlines.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Era, metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import type { Link, Trace } from '../../links/link.ts';
import type { ClientShares } from './client-shares.ts';
import { CallLimits, type CallTimeouts } from './limits.ts';
import type { CallOwner, ServerPeer } from './owner.ts';

/** Receives a call's messages. */
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

/** A connection, as seen by calls. */
export interface CallConnection extends ServerPeer {
  readonly link: Pick<Link, 'isOver'>;
  send(call: Call): void;
  /** Notifies the server that the response is no longer needed. */
  abandon(call: Call, reason: string): void;
  /** Sends a request of the gateway's own. */
  request(method: string, params: object | undefined, timeoutMs: number): Promise<Envelope>;
}

/** A pool member, as seen by calls: one of the server's connections with its state (pool/pool-member.ts). */
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
  /** Client whose share of the limits the call uses. @default the client of `owner` */
  readonly client?: ClientShares | undefined;
  /** Protocol era of connection and message: sessions, or stateless requests. @default 'legacy' */
  readonly era?: Era | undefined;
  readonly trace?: Trace | undefined;
  /** True if only the edits add a log level, so it is not visible in the envelope. */
  readonly asksForLog?: boolean | undefined;
  /**
   * The call that created a task, if this call awaits the result of the task. This call then uses the
   * connection and the progress token of the creating call. Its deadline is `maxMs` after the start of the
   * creating call.
   */
  readonly continues?: Call | undefined;
  /** Limits of the client's request, taken from an earlier call for the same request. */
  readonly limits?: CallLimits | undefined;
  /**
   * Connection to the process that runs the requested task. At a local server no other connection is used.
   */
  readonly home?: CallMember | undefined;
}

/** Settings shared by all calls to a server. */
export interface CallTerms {
  readonly server: string;
  readonly timeouts: CallTimeouts;
  /** Timer for `timeoutMs` that all calls share. Without it each call uses a separate timer. */
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
  readonly client: ClientShares | undefined;
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
  /** The client's share of the server's in-flight slots; written by InFlight only. */
  share: Share | undefined;
  /** Number of times the call was sent. */
  attempts = 0;
  isDone = false;
  /**
   * Time of the timer. `Deadlines` also writes it. `previous` and `next` are the neighbours in the list of
   * `Deadlines`.
   */
  dueAt = 0;
  previous: Call | undefined;
  next: Call | undefined;
  /**
   * Called when the call has completed. When the catalog entry of a server changes, the gateway restarts the
   * server's actor (its state machine). The new actor takes over queued calls and replaces this listener.
   */
  onEnd: OnCallEnd | undefined;

  readonly #exchange: CallExchange;
  readonly #asksForLog: boolean;
  readonly #terms: CallTerms;
  #limits: CallLimits | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(request: CallRequest, terms: CallTerms) {
    this.envelope = request.envelope;
    this.edits = request.edits ?? none;
    this.owner = request.owner;
    this.client = request.client ?? request.owner?.shares;
    this.era = request.era ?? 'legacy';
    this.trace = request.trace;
    this.#exchange = request.exchange;
    this.#asksForLog = request.asksForLog === true;
    this.continues = request.continues;
    this.home = request.home;
    this.#terms = terms;
    this.onEnd = terms.onEnd;
    this.#limits = this.continues?.limits ?? request.limits;
    if (this.continues !== undefined) this.#limits?.awaitTask();
    this.#startTimer(this.acceptedAt);
  }

  /** Time limits. Created at the first change, since most calls complete without one. */
  get limits(): CallLimits {
    this.#limits ??= new CallLimits(this.#terms.timeouts, this.acceptedAt);
    return this.#limits;
  }

  /** Pauses the limits until `resume` with the same key, while the client answers a question. */
  pause(key: object): void {
    if (this.isDone) return;
    const now = performance.now();
    this.limits.pause(key, now);
    this.#startTimer(now);
  }

  /** Ends a pause, or all without a key. */
  resume(key?: object): void {
    if (this.isDone || this.#limits === undefined) return;
    const now = performance.now();
    this.#limits.resume(key, now);
    this.#startTimer(now);
  }

  /**
   * Pauses the limits until `resume`. A modern client (stateless, 2026-07-28) has received a question of the
   * server as its result, and sends the request again with the answer.
   */
  suspend(): void {
    this.pause(suspension);
  }

  /** True if the request sets a log level (modern era), so log messages may concern it. */
  get receivesLog(): boolean {
    return this.#asksForLog || this.envelope.meta(metaKeys.logLevel) !== undefined;
  }

  /** True while a modern client answers a question of the server: see `suspend`. */
  get isSuspended(): boolean {
    return this.#limits?.isPausedBy(suspension) === true;
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

  /** Restarts the timer for calls without progress, because the server has reported progress. */
  touch(): void {
    if (this.isDone) return;
    const now = performance.now();
    this.limits.touch(now);
    this.#startTimer(now);
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
      'raise request_timeout_seconds (without progress) or max_request_seconds of this server if it needs longer';
    if (this.connection !== undefined) return `without a response; ${advice}`;
    const failure = this.#terms.failureSince?.(this.acceptedAt);
    return failure === undefined
      ? `while waiting to be sent; ${advice}`
      : `while the server was being started: ${failure.message}`;
  }

  /** Sets the timer for the limits. */
  #startTimer(now: number): void {
    const { deadlines, timeouts } = this.#terms;
    const usualAt = now + timeouts.timeoutMs;
    const dueAt = this.#limits?.dueAt ?? usualAt;
    if (dueAt === this.dueAt) return;
    this.#stopTimer();
    this.dueAt = dueAt;
    if (dueAt === Number.POSITIVE_INFINITY) return;
    // Most calls are due `timeoutMs` from now, and share one timer.
    if (deadlines !== undefined && dueAt === usualAt) deadlines.add(this, now);
    // A function shared by all calls, because a closure per call would cost memory.
    else this.#timer = setTimeout(expire, Math.min(MAX_TIMER_MS, Math.max(0, dueAt - now)), this);
  }

  #stopTimer(): void {
    this.#terms.deadlines?.delete(this);
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

/** Key of the pause for a modern client's retry. */
const suspension = {};

/** Longest delay of Node timers. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function expire(call: Call): void {
  call.expire();
}
