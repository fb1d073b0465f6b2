// One request on its way to a server: from acceptance to its single end, whatever happens in between.
//
// C1 (A2)  a call ends exactly once: with an answer, an error, its deadline, or a cancellation by its own client.
// C2       a call that may have been carried out is never sent again; one that certainly was not is sent once more.

import type { Share } from '../../../base/bounds/budget.ts';
import { DeadlineError, type GatewayError } from '../../../base/errors/errors.ts';
import type { Deadlines, Waiting } from '../../../base/time/deadlines.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Era, metaKeys } from '../../jsonrpc/modern-meta.ts';
import type { Edit } from '../../jsonrpc/span.ts';
import type { Link, Trace } from '../../links/link.ts';
import type { CallOwner, ServerPeer } from './call-owner.ts';

/** The receiver of the messages about one call. */
export interface Exchange {
  /** The server's answer, still with our own id in it. */
  answer(envelope: Envelope): void;
  /** A message that belongs to this call and comes before its answer; ready to be sent. */
  relay(message: Buffer): void;
  /** The gateway could not get an answer. `isUnsent`: the server has certainly not been asked. */
  fail(error: GatewayError, isUnsent?: boolean): void;
  /** The client has cancelled and expects nothing more. */
  drop(): void;
}

export type CallOutcome = 'answered' | 'failed' | 'dropped';

/** How long a call may take, in milliseconds; progress starts `timeoutMs` anew, up to `maxMs` in all. */
export interface Patience {
  readonly timeoutMs: number;
  readonly maxMs: number;
}

/** The connection of a sent call. */
export interface CallConnection extends ServerPeer {
  readonly link: Pick<Link, 'isOver'>;
  send(call: Call): void;
  /** Notifies the server that the answer is no longer needed. */
  abandon(call: Call, reason: string): void;
  /** Sends a request of the gateway's own. */
  request(method: string, params: object | undefined, timeoutMs: number): Promise<Envelope>;
}

/** A member of the server's pool, as far as its calls need it. */
export interface CallMember {
  connection: CallConnection;
  /** Handshake is done: calls may be sent. */
  isOpen: boolean;
  /** The gateway is closing the connection. Without this, an ended connection has crashed. */
  isClosing: boolean;
  /** Number of clients' calls in flight. */
  inFlight: number;
  /** performance.now() of the last call of a client. */
  lastUsedAt: number;
  /** Number of times it was reopened in place since the last answer, because the remote side forgot the session. */
  renewals: number;
}

/** A request to a server. */
export interface CallRequest {
  readonly envelope: Envelope;
  /** Edits of the message, except id and progress token. */
  readonly edits?: readonly Edit[] | undefined;
  readonly exchange: Exchange;
  /** The client session it belongs to; undefined for stateless requests and the gateway's own. */
  readonly owner?: CallOwner | undefined;
  /** The era of the connection it is sent on; the message is in that era's form. @default 'legacy' */
  readonly era?: Era | undefined;
  readonly trace?: Trace | undefined;
  /** It asks for log messages, by a level that only its edits add. */
  readonly asksForLog?: boolean | undefined;
  /**
   * Call that created the task. This call awaits the result: on the same connection, with the first call's progress, and
   * for the maximum duration of calls.
   */
  readonly continues?: Call | undefined;
  /** Connection with the task of the request. At a local server no other connection is used. */
  readonly home?: CallMember | undefined;
}

/** Settings that are the same for all calls to a server. */
export interface CallTerms {
  readonly server: string;
  readonly patience: Patience;
  /** The shared deadlines of `timeoutMs`; without them the call sets a timer of its own. */
  readonly deadlines?: Deadlines<Call>;
  readonly onEnd?: OnCallEnd;
  /**
   * Why no call could be sent: the server has failed since that moment, in performance.now() milliseconds, and is not back.
   * Asked only when a call's time is up.
   */
  readonly whyShut?: (since: number) => GatewayError | undefined;
}

/** `answer` is the server's, where there was one. */
export type OnCallEnd = (call: Call, outcome: CallOutcome, answer?: Envelope) => void;

export class Call implements Waiting<Call> {
  readonly envelope: Envelope;
  readonly edits: readonly Edit[];
  readonly owner: CallOwner | undefined;
  readonly era: Era;
  readonly trace: Trace | undefined;
  readonly continues: Call | undefined;
  readonly home: CallMember | undefined;
  readonly acceptedAt = performance.now();
  /** Our id on the connection, once sent. */
  id = 0;
  /** Where it may have been carried out. */
  connection: CallConnection | undefined;
  /** The pool's member it was sent on. */
  member: CallMember | undefined;
  /** The share of its session in the calls in flight at the server; only InFlight writes it. */
  share: Share | undefined;
  attempts = 0;
  isDone = false;
  /** Set and read by the deadlines. */
  dueAt = 0;
  previous: Call | undefined;
  next: Call | undefined;
  /** Called at the end; who takes the call over from another replaces it. */
  onEnd: OnCallEnd | undefined;

  readonly #exchange: Exchange;
  readonly #asksForLog: boolean;
  readonly #patience: Patience;
  readonly #terms: CallTerms;
  readonly #deadlines: Deadlines<Call> | undefined;
  #timer: NodeJS.Timeout | undefined;
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
    const { maxMs } = terms.patience;
    this.#patience = this.continues === undefined ? terms.patience : { timeoutMs: maxMs, maxMs };
    this.#deadlines = this.continues === undefined ? terms.deadlines : undefined;
    this.onEnd = terms.onEnd;
    this.#begin(this.acceptedAt);
  }

  /** The client is being asked something: the deadline stands still until `resume`. */
  suspend(): void {
    this.#stopClock();
    this.#suspendedAt ??= performance.now();
  }

  /** Whether it names a log level to a modern server, so that log messages may belong to it. */
  get hearsLog(): boolean {
    return this.#asksForLog || this.envelope.meta(metaKeys.logLevel) !== undefined;
  }

  /** Whether it waits for its client. */
  get isSuspended(): boolean {
    return this.#suspendedAt !== undefined;
  }

  /** The deadline runs again, from its beginning. */
  resume(): void {
    if (this.isDone || this.#suspendedAt === undefined) return;
    const now = performance.now();
    this.#suspendedMs += now - this.#suspendedAt;
    this.#suspendedAt = undefined;
    this.#begin(now);
  }

  /** The server's answer. */
  answer(envelope: Envelope): void {
    if (!this.#end(envelope.error === undefined ? 'answered' : 'failed', envelope)) return;
    this.#exchange.answer(envelope);
  }

  fail(error: GatewayError): void {
    if (!this.#end('failed')) return;
    this.#exchange.fail(error, this.connection === undefined);
  }

  /** A message that comes before the answer. */
  relay(message: Buffer): void {
    if (!this.isDone) this.#exchange.relay(message);
  }

  /** The client does not want the answer any more; the server is told. */
  cancel(reason = 'the client cancelled the request'): void {
    if (!this.#end('dropped')) return;
    this.connection?.abandon(this, reason);
    this.#exchange.drop();
  }

  /** Progress was made: the deadline starts anew, within its hard maximum. */
  touch(): void {
    if (this.isDone || this.#hasLastTimer || this.#suspendedAt !== undefined) return;
    const now = performance.now();
    const { timeoutMs, maxMs } = this.#patience;
    const leftMs = maxMs - (now - this.acceptedAt - this.#suspendedMs);
    this.#stopClock();
    if (leftMs >= timeoutMs) {
      this.#begin(now);
      return;
    }
    this.#timer = setTimeout(expire, Math.max(0, leftMs), this);
    this.#hasLastTimer = true;
  }

  /** The deadline is over; called by the shared deadlines, or by its own timer. */
  expire(): void {
    const seconds = Math.round((performance.now() - this.acceptedAt) / 100) / 10;
    this.connection?.abandon(this, 'the deadline has passed');
    const what = `${this.envelope.method} on server ${this.#terms.server} timed out after ${seconds} s`;
    this.fail(new DeadlineError(`${what} ${this.#whereItWas()}`));
  }

  #whereItWas(): string {
    const advice =
      'raise request_timeout_seconds (progress) or max_request_seconds of this server if it needs longer';
    if (this.connection !== undefined) return `without an answer; ${advice}`;
    const failure = this.#terms.whyShut?.(this.acceptedAt);
    return failure === undefined
      ? `while waiting to be sent; ${advice}`
      : `while the server was being started: ${failure.message}`;
  }

  #begin(now: number): void {
    this.#hasLastTimer = false;
    const { timeoutMs } = this.#patience;
    if (!Number.isFinite(timeoutMs)) return;
    if (this.#deadlines !== undefined) this.#deadlines.add(this, now);
    else this.#timer = setTimeout(expire, timeoutMs, this);
  }

  #stopClock(): void {
    this.#deadlines?.delete(this);
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #end(outcome: CallOutcome, answer?: Envelope): boolean {
    if (this.isDone) return false;
    this.isDone = true;
    this.#stopClock();
    this.onEnd?.(this, outcome, answer);
    return true;
  }
}

const none: readonly Edit[] = [];

function expire(call: Call): void {
  call.expire();
}
