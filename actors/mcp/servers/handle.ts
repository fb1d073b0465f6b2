// The handle of a server accepts its calls, limits them, sends them on connections, and counts them. The gate
// is open while the server can accept calls; the state machine (machines/server.ts) opens and closes it. A
// call is sent only while the gate is open (A1, ARCHITECTURE.md); with an open gate the machine is not
// involved. Every accepted call completes exactly once (A2, call.ts). Calls in flight and queued calls are
// limited: above a limit a call fails immediately, or displaces a call of another client (A8 and A6;
// calls/in-flight.ts, calls/queue.ts).
//
// H4  only calls of clients count as use: pings and list fetches do not keep a server running.

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { abortOverdueWork } from '../../../libs/rest/process-suspension.ts';
import {
  ConnectionLostError,
  type GatewayError,
  OverloadedError,
  UnavailableError,
  UnknownServerError,
  UnknownTaskError,
} from '../../base/errors/errors.ts';
import { Deadlines } from '../../base/time/deadlines.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { hasToolResult } from '../jsonrpc/tool-error.ts';
import { Call, type CallMember, type CallOutcome, type CallRequest, type CallTerms } from './calls/call.ts';
import { InFlight } from './calls/in-flight.ts';
import { Latency } from './calls/latency.ts';
import { CallQueue } from './calls/queue.ts';
import { RequestStateAffinity } from './calls/request-state-affinity.ts';
import { CircuitBreaker } from './life/circuit-breaker.ts';
import { canSend, type Pool } from './pool/pool.ts';
import type { PoolMember } from './pool/pool-member.ts';

export interface HandleHooks {
  /** A call was queued at the closed gate: the machine should start the server. */
  onDemand(): void;
  /** The first call since the machine entered `idle` was sent. */
  onUsed(): void;
  /** A call arrived, and the park time (refusal of calls after too many failures) has passed. */
  onWake(): void;
}

export class Handle {
  readonly id: string;
  readonly latency = new Latency();
  /** Shared timer of the calls. */
  readonly deadlines: Deadlines<Call>;
  /** Number of calls accepted by this handle. */
  requests = 0;
  /** Number of calls that failed with a server or gateway error. */
  failed = 0;
  /** Number of tool calls with a result that reports an error of the tool (`isError`). */
  toolErrors = 0;
  /** performance.now() of the last call. */
  lastUsedAt = performance.now();
  /** Wall clock of the last call, in epoch milliseconds; 0 before the first. */
  lastUsedTime = 0;
  isOpen = false;
  /** The machine is in `idle` and must be notified of the next call. */
  isIdle = false;
  /** Rejects calls while the server is disabled or parked. */
  readonly breaker: CircuitBreaker;

  readonly #entry: ServerEntry;
  /** The server's connections. */
  readonly #pool: Pool;
  readonly #hooks: HandleHooks;
  /** Settings of all calls. */
  readonly #terms: CallTerms;
  readonly #queue: CallQueue;
  readonly #inFlight: InFlight;
  /**
   * Finds the process that issued the `requestState` of a retry. Undefined for a remote server, which any
   * connection reaches.
   */
  readonly #affinity: RequestStateAffinity | undefined;
  #isDraining = false;
  /** True after `retire`. */
  #isRetired = false;
  /** Handle of the changed server with the same id. */
  #successor: Handle | undefined;
  /** Last failure of the server; undefined while it runs. */
  #failure: { readonly error: GatewayError; readonly at: number } | undefined;

  constructor(id: string, entry: ServerEntry, pool: Pool, hooks: HandleHooks) {
    this.id = id;
    this.#entry = entry;
    this.#pool = pool;
    this.#hooks = hooks;
    this.breaker = new CircuitBreaker(id, entry.enabled);
    this.#queue = new CallQueue(entry.pool.waiting, entry.isolation === 'shared');
    this.#inFlight = new InFlight(entry.pool.in_flight, entry.isolation === 'shared');
    this.#affinity = entry.runtime === 'stdio' ? new RequestStateAffinity() : undefined;
    const timeouts = {
      timeoutMs: entry.request_timeout_seconds * 1000,
      maxMs: Math.max(entry.max_request_seconds, entry.request_timeout_seconds) * 1000,
    };
    this.deadlines = new Deadlines(timeouts.timeoutMs);
    this.#terms = {
      server: id,
      timeouts,
      deadlines: this.deadlines,
      onEnd: (call, outcome, answer) => this.#onEnd(call, outcome, answer),
      failureSince: (since) => this.#failureSince(since),
    };
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get waiting(): number {
    return this.#queue.calls.size;
  }

  /** The queued call that has waited longest. */
  get longestWaiting(): Call | undefined {
    return this.#queue.first;
  }

  /** Returns true if a client may still retry with a `requestState` from this connection. */
  isAwaited(member: PoolMember): boolean {
    return this.#affinity?.isAwaited(member) === true;
  }

  /** Accepts a call. Its exchange may complete before this returns. */
  accept(request: CallRequest): Call {
    this.requests += 1;
    this.lastUsedTime = Date.now();
    const call = new Call(request, this.#terms);
    this.#dispatch(call, call.acceptedAt);
    return call;
  }

  /** Retries a call that was certainly not executed, when the pool has removed its lost connection. */
  retry(call: Call): void {
    this.#release(call, performance.now());
    queueMicrotask(() => {
      if (!call.isDone) this.#dispatch(call, performance.now());
      // If the call is queued, its in-flight slot is free for another.
      this.drain();
    });
  }

  /** The server is parked: after too many failures all calls are rejected for a while. */
  get isParked(): boolean {
    return this.breaker.isOpen;
  }

  /** Opens the gate and sends queued calls. */
  open(): void {
    this.isOpen = true;
    this.#failure = undefined;
    this.breaker.close();
    this.drain();
  }

  /** Called when the machine enters `failed`. */
  recordFailure(error: GatewayError): void {
    this.#failure = { error, at: performance.now() };
  }

  /**
   * Returns the failure that delays the queued calls. Ignores failures before `since`: their cause may be
   * repaired.
   */
  #failureSince(since: number): GatewayError | undefined {
    if (this.#successor !== undefined) return this.#successor.#failureSince(since);
    return this.#failure !== undefined && this.#failure.at >= since ? this.#failure.error : undefined;
  }

  /** Closes the gate; calls in flight continue. */
  close(): void {
    this.isOpen = false;
    this.isIdle = false;
  }

  /** Rejects queued calls now, and new calls until `until` (monotonic clock). */
  park(until: number, because: string): void {
    this.breaker.open(until, because);
    const refusal = this.breaker.refusal() ?? new UnavailableError(`server ${this.id} is parked`, 1);
    // Unlike later calls, the queued calls have waited for the start that failed.
    const cause = this.#failure?.error;
    const error = new UnavailableError(refusal.message, refusal.retryAfterSeconds, { cause });
    this.failWaiting(() => true, error);
  }

  /**
   * Called when the server was changed or removed. Queued and new calls move to `successor`, or fail without
   * one. Calls in flight complete here.
   */
  retire(successor: Handle | undefined): void {
    this.#isRetired = true;
    this.#successor = successor;
    for (const call of this.#queue.empty()) this.#handOver(call);
  }

  #handOver(call: Call): void {
    const { id } = this;
    if (this.#successor === undefined) {
      call.fail(
        new UnknownServerError(`server ${id} has left the catalog; GET /servers lists the available servers`),
      );
      return;
    }
    call.onEnd = this.#successor.#terms.onEnd;
    this.#successor.requests += 1;
    this.#successor.lastUsedTime = Date.now();
    this.#successor.#dispatch(call, performance.now());
  }

  /** Fails the queued calls that match. */
  failWaiting(which: (call: Call) => boolean, error: GatewayError): void {
    this.#queue.fail(which, error);
  }

  /** Sends the queued calls that can be sent now, oldest first. */
  drain(): void {
    // A call that fails here calls `drain` again; thousands of nested calls would overflow the stack.
    if (this.#isDraining || this.#queue.calls.size === 0) return;
    this.#isDraining = true;
    try {
      for (const call of this.#queue.calls) {
        if (!this.isOpen || this.#inFlight.isFull) return;
        if (!this.#inFlight.hasSlotFor(call)) continue;
        const member = this.#pick(call);
        if (member === undefined || this.#inFlight.isFullOn(member)) continue;
        this.#queue.delete(call);
        this.#send(member, call, performance.now());
      }
    } finally {
      this.#isDraining = false;
    }
  }

  #dispatch(call: Call, now: number): void {
    if (this.#isRetired) {
      this.#handOver(call);
      return;
    }
    const refusal = this.breaker.mayRefuse ? this.breaker.refusal() : undefined;
    if (refusal !== undefined) {
      call.fail(refusal);
      return;
    }
    this.#inFlight.assignShare(call);
    if (this.isOpen && this.#inFlight.hasSlotFor(call)) {
      const member = this.#pick(call);
      if (member !== undefined && !this.#inFlight.isFullOn(member)) {
        this.#send(member, call, now);
        return;
      }
      // Without a possible connection `#pick` has failed the call.
      if (call.isDone) return;
    }
    if (this.#queue.isFullFor(call)) {
      const displacedCall = this.#queue.displace(call);
      if (displacedCall === undefined) {
        call.fail(this.#overload());
        return;
      }
      this.#queue.add(call);
      // The displaced call fails last, because other calls may start when it completes.
      displacedCall.fail(this.#overload());
    } else {
      this.#queue.add(call);
    }
    if (this.isOpen) return;
    if (this.breaker.until === undefined) {
      this.#hooks.onDemand();
    } else {
      // The park time has passed. The server starts only now, so its first connection serves this call.
      this.breaker.close();
      this.#hooks.onWake();
    }
  }

  #overload(): OverloadedError {
    const { in_flight, waiting } = this.#entry.pool;
    return new OverloadedError(
      `server ${this.id} is at its limit (${in_flight} calls in flight, ${waiting} waiting); try again shortly, ` +
        'or raise pool.in_flight or pool.waiting of this server',
    );
  }

  get #isShared(): boolean {
    return this.#entry.isolation === 'shared';
  }

  /** Returns the connection (pool member) for the call; undefined if none is open yet or the call failed. */
  #pick(call: Call): CallMember | undefined {
    if (call.continues !== undefined) return this.#memberThatCreated(call, call.continues);
    // A local server has the task only in the process that created it.
    if (call.home !== undefined && this.#entry.runtime === 'stdio')
      return this.#processOfTask(call, call.home);
    const home = call.home ?? (call.era === 'modern' ? this.#affinity?.find(call.envelope) : undefined);
    // A request state must not lead to a connection of another session (P2, pool.ts).
    if (home !== undefined && this.#isShared && canSend(home)) return home;
    try {
      return this.#pool.pick(call.owner, call.era);
    } catch (error) {
      call.fail(error as GatewayError);
      return undefined;
    }
  }

  /**
   * Returns the process that runs the task of the call. Fails the call if that process has exited: a new
   * process may use the same task id for another task.
   */
  #processOfTask(call: Call, home: CallMember): CallMember | undefined {
    if (canSend(home)) return home;
    call.fail(new UnknownTaskError());
    return undefined;
  }

  /** Returns the connection that created the task; the task exists only there. */
  #memberThatCreated(call: Call, { connection }: Call): CallMember | undefined {
    for (const member of this.#pool.members)
      if (member.connection === connection && canSend(member)) return member;
    call.fail(
      new ConnectionLostError(
        `the connection to server ${this.id} has ended, including the task of this call`,
      ),
    );
    return undefined;
  }

  /** `now` is in performance.now() milliseconds. */
  #send(member: CallMember, call: Call, now: number): void {
    // A process suspension may have delayed timers, so overdue deadlines are handled before the call is sent.
    abortOverdueWork();
    if (call.isDone) return;
    this.#inFlight.acquire(call, member);
    call.member = member;
    this.#recordUse(member, now);
    if (this.isIdle) {
      this.isIdle = false;
      this.#hooks.onUsed();
    }
    member.connection.send(call);
  }

  #onEnd(call: Call, outcome: CallOutcome, answer?: Envelope): void {
    if (answer !== undefined && call.era === 'modern' && call.member !== undefined)
      this.#affinity?.note(answer, call.member);
    if (outcome === 'failed') this.failed += 1;
    else if (answer !== undefined && hasToolResult(call.envelope.method) && answer.isToolError)
      this.toolErrors += 1;
    const now = performance.now();
    if (outcome !== 'dropped') this.latency.note(now - call.acceptedAt);
    if (outcome === 'answered' && call.member !== undefined) call.member.renewals = 0;
    this.#release(call, now);
    if (this.#queue.calls.size > 0) this.drain();
  }

  /** Removes the call from its connection or from the queue. */
  #release(call: Call, now: number): void {
    const { member } = call;
    if (member === undefined) {
      this.#queue.delete(call);
      return;
    }
    call.member = undefined;
    this.#inFlight.release(call, member);
    this.#recordUse(member, now);
  }

  #recordUse(member: CallMember, now: number): void {
    this.lastUsedAt = now;
    member.lastUsedAt = now;
  }
}
