// Active mailbox: calls the handler for the first event of a key, commits the result, and continues with the
// next event of the key. Executes the commands of the state machine in mailbox-life.ts. The claim (claim.ts)
// is a lease from the store: no other node handles the key while it is valid.
//
// Each active mailbox has an actor (machines/conversation.ts), which receives events of long and aborted runs
// only. A fault of the actor fails the current attempt; the next run starts a new actor.
//
// Runs never overlap, even under a new claim (invariant A4 of ARCHITECTURE.md). A handler that ignores the
// abort signal keeps the claim and blocks the conversation. After `patienceMs` it loses its slot and counts
// as a zombie run.

import type { AnyActorRef } from 'xstate';
import type { ConversationEvent } from '../../../machines/conversation.ts';
import type { ListMember } from '../../base/bounds/linked-list.ts';
import { sendOrCount } from '../../base/supervision/dead-letters.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { Committed, TurnRef, TurnResult } from '../../store/store.ts';
import { Attempt, type AttemptHost } from './attempt.ts';
import { Checkpoint, checkState, claimLostError } from './checkpoint.ts';
import { Claim, type ClaimedTurn } from './claim.ts';
import {
  type AbortReason,
  type MailboxCommand,
  type MailboxEvent,
  resting,
  type TurnEnd,
  transition,
} from './mailbox-life.ts';
import { type CommitQueue, faultOutcome, TurnCommit } from './turn-commit.ts';
import type { Effects, WorkOutcome } from './work.ts';

/** Age at which a run counts as long: its mailbox actor then receives its events. */
const LONG_RUN_MS = 100;

interface MailboxQueue extends CommitQueue {
  readonly isStopping: boolean;
  /** False if the limit of zombie runs is reached: aborted runs that still execute, without a slot. */
  readonly hasZombieCapacity: boolean;
  /** Time that an aborted run keeps its slot. */
  readonly patienceMs: number;
  occupy(mailbox: Mailbox): void;
  yieldSlot(mailbox: Mailbox): void;
  rest(mailbox: Mailbox): void;
  openActor(mailbox: Mailbox): void;
  forget(mailbox: Mailbox): void;
}

export class Mailbox implements ListMember<Mailbox>, AttemptHost {
  readonly key: string;
  readonly queue: MailboxQueue;
  /** Actor of the mailbox; undefined before the first run and after a fault of the actor. */
  ref: AnyActorRef | undefined;
  previous: Mailbox | undefined;
  next: Mailbox | undefined;
  /** True if the mailbox occupies a slot. The queue writes this field and `isZombie`. */
  hasSlot = false;
  isZombie = false;
  /** Start of the idle time, in performance.now() milliseconds. */
  restingSince = 0;

  readonly #claim: Claim;
  #life = resting;
  /** Attempt at the current event. */
  #attempt: Attempt | undefined;
  /** Redacted error text of the last actor fault. */
  #crashNote = '';

  /** A new mailbox rests until `offer` passes a claim to it. */
  constructor(queue: MailboxQueue, key: string) {
    this.queue = queue;
    this.key = key;
    this.#claim = new Claim(key);
  }

  get event(): StoredEvent {
    return this.#claim.turn.event;
  }

  /** Duration of the run, in milliseconds. */
  get tookMs(): number {
    return this.#attempt?.tookMs ?? 0;
  }

  /** Returns the claim to renew: the newest one, unless it is lost. */
  claimToRenew(): TurnRef | undefined {
    return this.#life.abortReason === 'lost' ? this.#claim.queuedTurn : this.#claim.newestTurn;
  }

  /** Processes an event of the state machine. */
  apply(event: MailboxEvent): void {
    const [life, ...commands] = transition(this.#life, event);
    this.#life = life;
    for (const command of commands) this.#do(command);
  }

  /**
   * Starts the run for the claimed event. A new claim, if a run exists, proves that the previous claim is
   * lost: the run is aborted, and the new claim is queued until the run finishes.
   */
  offer(claim: ClaimedTurn): void {
    if (this.#life.phase === 'resting') {
      this.#begin(claim);
      return;
    }
    this.#claim.queue(claim);
    this.apply({ type: 'abort', reason: 'lost' });
  }

  /** Checks the time limits of the run; `now` in performance.now() milliseconds. */
  tick(now: number): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    if (attempt.ageMs(now) >= LONG_RUN_MS) this.apply({ type: 'moment.over' });
    if (attempt.isOverdue(now)) this.apply({ type: 'abort', reason: 'deadline' });
    if (this.hasSlot && attempt.isPatienceOver(now) && this.queue.hasZombieCapacity)
      this.apply({ type: 'patience.over' });
  }

  /** Cancels the run. Returns false if no run exists or the run is already aborted. */
  cancel(note: string): boolean {
    const before = this.#life;
    this.apply({ type: 'abort', reason: 'cancelled', note });
    return this.#life !== before;
  }

  onRenewed(fence: number, expiresAt: number): void {
    this.#claim.onRenewed(fence, expiresAt);
  }

  /** Handles a failed renewal; `requestedAt` in performance.now() milliseconds. */
  onNotRenewed(requestedAt: number): void {
    this.#claim.dropExpiredQueued(requestedAt);
    if (this.#claim.mayHaveExpired(requestedAt)) this.apply({ type: 'abort', reason: 'lost' });
  }

  /**
   * Handles a claim that the store no longer has: aborts the run. A pending commit continues: the store
   * checks the claim.
   */
  onClaimGone(fence: number): void {
    if (this.#claim.onClaimGone(fence)) this.apply({ type: 'abort', reason: 'lost' });
  }

  /**
   * Handles the loss of the cluster membership: aborts the run synchronously, since other nodes may claim the
   * event.
   */
  onMembershipLost(): void {
    if (this.#claim.onMembershipLost()) this.apply({ type: 'abort', reason: 'lost' });
  }

  // Called by the actor and its parent.

  abort(): void {
    this.#attempt?.abort(this.#life.abortReason, this.queue.patienceMs);
  }

  /** Handles a failure of the actor. */
  onActorFailed(error: unknown): void {
    this.ref = undefined;
    this.#crashNote = this.queue.noteOf(error);
    this.queue.metrics.noteFault(this, this.#crashNote);
    this.apply({ type: 'crash' });
  }

  // Called by the attempt.

  noteOf(error: unknown): string {
    return this.queue.noteOf(error);
  }

  commitCheckpoint(attempt: Attempt, state: string | null | undefined, effects: Effects): Promise<void> {
    const isCurrent = () =>
      attempt === this.#attempt && this.#life.phase === 'running' && this.#life.abortReason !== 'lost';
    return new Promise((resolve, reject) => {
      checkState(state);
      if (!isCurrent()) throw claimLostError();
      const { turn } = this.#claim;
      attempt.checkpoint = new Checkpoint(turn, state, effects, {
        hasLostClaim: () => !isCurrent() || this.#claim.mayHaveExpired(performance.now()),
        onStored: ({ attempt: nextAttempt = turn.event.attempt }) => {
          if (isCurrent())
            this.#claim.advance(nextAttempt, state === undefined ? turn.event.state : (state ?? undefined));
          resolve();
        },
        reject,
      });
      this.queue.committer.add(attempt.checkpoint);
    });
  }

  // Called by the commit.

  onCommitted({ isCurrent, next }: Committed, result: TurnResult): void {
    const { metrics, work } = this.queue;
    const { snapshot, heldBy } = result;
    if (isCurrent) metrics.noteCommit(this, result, next);
    else metrics.noteLoss(this);
    if (isCurrent && heldBy !== undefined) work.onQueued?.(heldBy);
    if (isCurrent && next !== undefined) {
      const nextSnapshot = snapshot === undefined ? this.#claim.turn.snapshot : (snapshot ?? undefined);
      this.#begin(this.#claim.nextTurn(next, nextSnapshot));
    } else this.apply({ type: 'over' });
  }

  #begin(claim: ClaimedTurn): void {
    this.#claim.begin(claim);
    this.apply({ type: 'turn', abortReason: this.#initialAbortReason(claim) });
  }

  #initialAbortReason({ epoch }: ClaimedTurn): AbortReason | undefined {
    if (this.queue.isStopping) return 'stopped';
    // `epoch` is the cluster membership of the claim. It can have ended during a process suspension.
    return epoch.isOver ? 'lost' : undefined;
  }

  #do(command: MailboxCommand): void {
    const { queue } = this;
    if (command.do === 'start') this.#start();
    else if (command.do === 'tell') this.#tell(command.type);
    else if (command.do === 'abort') this.abort();
    else if (command.do === 'yieldSlot') queue.yieldSlot(this);
    else if (command.do === 'noteLoss') queue.metrics.noteLoss(this);
    else if (command.do === 'rejectCheckpoint') this.#attempt?.checkpoint?.onGivenUp();
    else if (command.do === 'commit')
      queue.committer.add(new TurnCommit(this, this.#claim, () => this.#outcomeOf(command.end)));
    else if (command.do === 'rest') this.#rest();
    else queue.forget(this);
  }

  #outcomeOf(end: TurnEnd): WorkOutcome | 'none' | undefined {
    if (end === 'outcome') return this.#attempt?.evaluate(this.#life);
    return end === 'fault' ? faultOutcome(this.#crashNote) : 'none';
  }

  #tell(type: ConversationEvent['type']): void {
    if (this.ref !== undefined) sendOrCount(this.ref, { type, attempt: this.event.attempt });
  }

  #start(): void {
    const { queue } = this;
    const attempt = new Attempt();
    this.#attempt = attempt;
    queue.occupy(this);
    if (this.ref === undefined) queue.openActor(this);
    if (this.#life.abortReason === undefined) attempt.start(queue.work, this.#claim.turn, this);
    else queueMicrotask(() => this.apply({ type: 'ended' }));
  }

  /** Starts the queued claim, if any. Otherwise the mailbox rests: it has no event, but keeps its actor. */
  #rest(): void {
    const queued = this.#claim.finish();
    this.#attempt = undefined;
    if (queued !== undefined) this.#begin(queued);
    else if (this.ref === undefined) this.queue.forget(this);
    else this.queue.rest(this);
  }
}
