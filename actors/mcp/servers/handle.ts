// The traffic side of one managed server: takes calls, bounds them, sends them on a connection, counts them.
// The machine (machines/server.ts) opens and closes its gate; a call on an open gate never touches the machine.
//
// H1 (A1)  a call is sent only while the gate is open.
// H2 (A2)  every accepted call ends exactly once (see call.ts); a waiting one ends by its deadline at the latest.
// H3 (A8)  at most `pool.in_flight` calls are in flight and `pool.waiting` wait (call-queue.ts); one more is refused at
//          once, or one of a session that has more of them waiting (A6). Under session isolation both hold for each
//          session; else no session has all that are in flight (in-flight.ts).
// H4       calls, and nothing else, count as use: pings and list fetches keep no server awake.
// H5       a retry that carries a state goes to the process the state came from, which waits for it
//          (request-state-affinity.ts).

import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { endWhatIsOver } from '../../../libs/rest/standstill.ts';
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
import { Call, type CallMember, type CallOutcome, type CallRequest, type CallTerms } from './calls/call.ts';
import { CallQueue } from './calls/call-queue.ts';
import { InFlight } from './calls/in-flight.ts';
import { Latency } from './calls/latency.ts';
import { RequestStateAffinity } from './calls/request-state-affinity.ts';
import { CircuitBreaker } from './life/circuit-breaker.ts';
import { canTake, type Pool } from './pool/pool.ts';
import type { PoolMember } from './pool/pool-member.ts';

export interface HandleHooks {
  /** A call waits and the gate is shut: the machine is to open it. */
  onDemand(): void;
  /** The first call since the machine has entered `idle`. */
  onUsed(): void;
  /** A call has come after the time of a parked server was over. */
  onWake(): void;
}

export class Handle {
  readonly id: string;
  readonly latency = new Latency();
  readonly deadlines: Deadlines<Call>;
  /** Calls accepted since the gateway has started, or a reload has changed the entry. */
  requests = 0;
  /** Calls that ended with an error, the server's or the gateway's. */
  failed = 0;
  /** performance.now() of the last call. */
  lastUsedAt = performance.now();
  /** Wall clock of the last call, in epoch milliseconds; 0 before the first. */
  lastUsedTime = 0;
  isOpen = false;
  /** The machine is in `idle`: the next call has to tell it. */
  isIdle = false;
  readonly breaker: CircuitBreaker;

  readonly #entry: ServerEntry;
  readonly #pool: Pool;
  readonly #hooks: HandleHooks;
  readonly #terms: CallTerms;
  readonly #room: CallQueue;
  readonly #inFlight: InFlight;
  /** Only for local processes: a remote server finds its states itself. */
  readonly #homes: RequestStateAffinity | undefined;
  #isDraining = false;
  #isRetired = false;
  #successor: Handle | undefined;
  /** Why the server has failed, and when, until it is open again. */
  #failure: { readonly error: GatewayError; readonly at: number } | undefined;

  constructor(id: string, entry: ServerEntry, pool: Pool, hooks: HandleHooks) {
    this.id = id;
    this.#entry = entry;
    this.#pool = pool;
    this.#hooks = hooks;
    this.breaker = new CircuitBreaker(id, entry.enabled);
    this.#room = new CallQueue(entry.pool.waiting, entry.isolation === 'shared');
    this.#inFlight = new InFlight(entry.pool.in_flight, entry.isolation === 'shared');
    this.#homes = entry.runtime === 'stdio' ? new RequestStateAffinity() : undefined;
    const patience = {
      timeoutMs: entry.request_timeout_seconds * 1000,
      maxMs: Math.max(entry.max_request_seconds, entry.request_timeout_seconds) * 1000,
    };
    this.deadlines = new Deadlines(patience.timeoutMs);
    this.#terms = {
      server: id,
      patience,
      deadlines: this.deadlines,
      onEnd: (call, outcome, answer) => this.#onEnd(call, outcome, answer),
      whyShut: (since) => this.#whyShut(since),
    };
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  get waiting(): number {
    return this.#room.calls.size;
  }

  /** The call that has waited in the queue longest. */
  get next(): Call | undefined {
    return this.#room.first;
  }

  /** Whether a client still has a `requestState` of this connection, and may come back with it. */
  isAwaited(member: PoolMember): boolean {
    return this.#homes?.isAwaited(member) === true;
  }

  /** Takes a call. It ends through its exchange, perhaps before this returns. */
  accept(request: CallRequest): Call {
    this.requests += 1;
    this.lastUsedTime = Date.now();
    const call = new Call(request, this.#terms);
    this.#place(call, call.acceptedAt);
    return call;
  }

  /** The call was certainly not carried out: it is sent once more, as soon as the dead connection has left the pool. */
  retry(call: Call): void {
    this.#leave(call, performance.now());
    queueMicrotask(() => {
      if (!call.isDone) this.#place(call, performance.now());
      // If it has to wait now, its place in flight is free for another.
      this.drain();
    });
  }

  /** The server has failed too often lately: calls are refused. */
  get isParked(): boolean {
    return this.breaker.isOpen;
  }

  open(): void {
    this.isOpen = true;
    this.#failure = undefined;
    this.breaker.close();
    this.drain();
  }

  /** The machine has entered `failed`. */
  fail(error: GatewayError): void {
    this.#failure = { error, at: performance.now() };
  }

  /** The failure of the server that calls wait for now. A failure before `since` does not count: it may have been repaired. */
  #whyShut(since: number): GatewayError | undefined {
    if (this.#successor !== undefined) return this.#successor.#whyShut(since);
    return this.#failure !== undefined && this.#failure.at >= since ? this.#failure.error : undefined;
  }

  close(): void {
    this.isOpen = false;
    this.isIdle = false;
  }

  /** The server is parked: waiting calls are refused now, and new ones until `until` (by the steady clock). */
  refuse(until: number, because: string): void {
    this.breaker.open(until, because);
    this.failWaiting(
      () => true,
      this.breaker.refusal() ?? new UnavailableError(`server ${this.id} is parked`, 1),
    );
  }

  /**
   * The server was changed or removed: calls that were not sent yet go to `successor`, or end when there is none. Those
   * in flight end here.
   */
  retire(successor: Handle | undefined): void {
    this.#isRetired = true;
    this.#successor = successor;
    for (const call of this.#room.empty()) this.#handOver(call);
  }

  #handOver(call: Call): void {
    const { id } = this;
    if (this.#successor === undefined) {
      call.fail(
        new UnknownServerError(`server ${id} has left the catalog; GET /servers lists those there are`),
      );
      return;
    }
    call.onEnd = this.#successor.#terms.onEnd;
    this.#successor.requests += 1;
    this.#successor.lastUsedTime = Date.now();
    this.#successor.#place(call, performance.now());
  }

  failWaiting(which: (call: Call) => boolean, error: GatewayError): void {
    this.#room.fail(which, error);
  }

  /** Sends whatever can be sent by now, oldest first. */
  drain(): void {
    // A call that cannot be sent ends, and its end comes back here: thousands of them would fill the stack.
    if (this.#isDraining || this.#room.calls.size === 0) return;
    this.#isDraining = true;
    try {
      for (const call of this.#room.calls) {
        if (!this.isOpen || this.#inFlight.isFull) return;
        if (!this.#inFlight.hasRoomFor(call)) continue;
        const member = this.#pick(call);
        if (member === undefined || this.#inFlight.isFullOn(member)) continue;
        this.#room.delete(call);
        this.#send(member, call, performance.now());
      }
    } finally {
      this.#isDraining = false;
    }
  }

  #place(call: Call, now: number): void {
    if (this.#isRetired) {
      this.#handOver(call);
      return;
    }
    const refusal = this.breaker.mayRefuse ? this.breaker.refusal() : undefined;
    if (refusal !== undefined) {
      call.fail(refusal);
      return;
    }
    this.#inFlight.admit(call);
    if (this.isOpen && this.#inFlight.hasRoomFor(call)) {
      const member = this.#pick(call);
      if (member !== undefined && !this.#inFlight.isFullOn(member)) {
        this.#send(member, call, now);
        return;
      }
      if (call.isDone) return;
    }
    if (this.#room.isFullFor(call.owner)) {
      const other = this.#room.giveWay(call.owner);
      if (other === undefined) {
        call.fail(this.#overload());
        return;
      }
      this.#room.add(call);
      // Told only now: whatever its end brings about finds the room as it will be.
      other.fail(this.#overload());
    } else {
      this.#room.add(call);
    }
    if (this.isOpen) return;
    if (this.breaker.until === undefined) {
      this.#hooks.onDemand();
    } else {
      // The park time is over. Woken only now, so that the server starts for the session of this very call.
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

  #pick(call: Call): CallMember | undefined {
    if (call.continues !== undefined) return this.#memberOfTask(call, call.continues);
    if (call.home !== undefined && this.#entry.runtime === 'stdio') return this.#homeOf(call, call.home);
    const home = call.home ?? (call.era === 'modern' ? this.#homes?.find(call.envelope) : undefined);
    // A state must not lead to what belongs to another session (P2).
    if (home !== undefined && this.#isShared && canTake(home)) return home;
    try {
      return this.#pool.pick(call.owner, call.era);
    } catch (error) {
      call.fail(error as GatewayError);
      return undefined;
    }
  }

  /** Returns the process with the requested task. Refuses the call if the process has ended: another may use its ids again. */
  #homeOf(call: Call, home: CallMember): CallMember | undefined {
    if (canTake(home)) return home;
    call.fail(new UnknownTaskError());
    return undefined;
  }

  /** The task exists only on the connection that created it. */
  #memberOfTask(call: Call, { connection }: Call): CallMember | undefined {
    for (const member of this.#pool.members)
      if (member.connection === connection && canTake(member)) return member;
    call.fail(
      new ConnectionLostError(
        `the connection to server ${this.id} has ended, and with it the task of a call`,
      ),
    );
    return undefined;
  }

  /** `now` is in performance.now() milliseconds, as everywhere here. */
  #send(member: CallMember, call: Call, now: number): void {
    // It may have waited for long, and its caller may have lost what it is made under.
    endWhatIsOver();
    if (call.isDone) return;
    this.#inFlight.take(call, member);
    call.member = member;
    this.#noteUse(member, now);
    if (this.isIdle) {
      this.isIdle = false;
      this.#hooks.onUsed();
    }
    member.connection.send(call);
  }

  #onEnd(call: Call, outcome: CallOutcome, answer?: Envelope): void {
    if (answer !== undefined && call.era === 'modern' && call.member !== undefined)
      this.#homes?.note(answer, call.member);
    if (outcome === 'failed') this.failed += 1;
    const now = performance.now();
    if (outcome !== 'dropped') this.latency.note(now - call.acceptedAt);
    if (outcome === 'answered' && call.member !== undefined) call.member.renewals = 0;
    this.#leave(call, now);
    if (this.#room.calls.size > 0) this.drain();
  }

  /** Removes the call from its connection, or from the queue. */
  #leave(call: Call, now: number): void {
    const { member } = call;
    if (member === undefined) {
      this.#room.delete(call);
      return;
    }
    call.member = undefined;
    this.#inFlight.give(call, member);
    this.#noteUse(member, now);
  }

  #noteUse(member: CallMember, now: number): void {
    this.lastUsedAt = now;
    member.lastUsedAt = now;
  }
}
