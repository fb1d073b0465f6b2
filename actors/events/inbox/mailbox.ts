// One active mailbox: runs the work for an event, commits the result, and continues with the next event of the key.
// Executes the commands of the state machine in mailbox-life.ts; the claim is in claim.ts.
//
// An actor (machines/conversation.ts) follows only long or aborted runs.
//
// MB1  at most one run at a time, even under a new claim (A4). A handler that ignores an aborted signal keeps the claim
//      and delays the conversation, but yields the place after the patience.
// MB2  a resting mailbox keeps no handled event.
// MB3  a fault in the actor fails only the attempt: the run is aborted and awaited, and the next turn opens a new actor.

import type { AnyActorRef } from 'xstate';
import type { ConversationEvent } from '../../../machines/conversation.ts';
import type { Linked } from '../../base/bounds/linked-list.ts';
import { tell } from '../../base/supervision/dead-letters.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { Committed, TurnRef, TurnResult } from '../../store/store.ts';
import { Attempt, type AttemptHost } from './attempt.ts';
import { Checkpoint, checkState, claimLost } from './checkpoint.ts';
import { Claim, type ClaimedTurn } from './claim.ts';
import { type MailboxCommand, type MailboxEvent, resting, type TurnEnd, transition } from './mailbox-life.ts';
import { type CommitQueue, faultOutcome, TurnCommit } from './turn-commit.ts';
import type { Effects, Outcome } from './work.ts';

/** Duration after which a run becomes an actor. */
const MOMENT_MS = 100;

/** The queue that a mailbox belongs to. */
interface MailboxQueue extends CommitQueue {
  readonly isStopping: boolean;
  readonly hasRoomForOverruns: boolean;
  readonly patienceMs: number;
  occupy(mailbox: Mailbox): void;
  yieldPlace(mailbox: Mailbox): void;
  rest(mailbox: Mailbox): void;
  open(mailbox: Mailbox): void;
  forget(mailbox: Mailbox): void;
}

export class Mailbox implements Linked<Mailbox>, AttemptHost {
  readonly key: string;
  readonly queue: MailboxQueue;
  /** The actor that runs the machine; none after a fault. */
  ref: AnyActorRef | undefined;
  previous: Mailbox | undefined;
  next: Mailbox | undefined;
  /** The mailbox takes one of the places of its queue. Written by the queue, as is the next. */
  hasPlace = false;
  isOverrun = false;
  /** Since when the mailbox has nothing to do. */
  restingSince = 0;

  readonly #claim: Claim;
  #life = resting;
  /** Attempt of the current turn. */
  #attempt: Attempt | undefined;
  /** Note of the last actor crash. */
  #crash = '';

  /** A new mailbox rests until a turn is offered. */
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

  /** The newest claim that is not lost, for renewal. */
  claim(): TurnRef | undefined {
    return this.#life.cut === 'lost' ? this.#claim.waiting : this.#claim.newest;
  }

  /** Processes an event of the state machine. */
  apply(event: MailboxEvent): void {
    const [life, ...commands] = transition(this.#life, event);
    this.#life = life;
    for (const command of commands) this.#do(command);
  }

  /** Begins a claimed turn, or queues it behind the run of a lost claim. */
  offer(claimed: ClaimedTurn): void {
    if (this.#life.phase === 'resting') {
      this.#begin(claimed);
      return;
    }
    this.#claim.wait(claimed);
    this.apply({ type: 'cut', cut: 'lost' });
  }

  /** Fires the timers; `now` in performance.now() milliseconds. */
  tick(now: number): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    if (attempt.ageMs(now) >= MOMENT_MS) this.apply({ type: 'moment.over' });
    if (attempt.isOverdue(now)) this.apply({ type: 'cut', cut: 'deadline' });
    if (this.hasPlace && attempt.isStubborn(now) && this.queue.hasRoomForOverruns)
      this.apply({ type: 'patience.over' });
  }

  /** Cancels the run. Returns false without a run, or for an aborted one. */
  cancel(note: string): boolean {
    const before = this.#life;
    this.apply({ type: 'cut', cut: 'cancelled', note });
    return this.#life !== before;
  }

  onRenewed(fence: number, heldUntil: number): void {
    this.#claim.onRenewed(fence, heldUntil);
  }

  /** The store could not be reached; `askedAt` in performance.now() milliseconds. */
  onNotRenewed(askedAt: number): void {
    this.#claim.dropOverdue(askedAt);
    if (this.#claim.isOver(askedAt)) this.apply({ type: 'cut', cut: 'lost' });
  }

  /** The store no longer knows the claim; a pending commit still receives its answer. */
  onMissed(fence: number): void {
    if (this.#claim.onMissed(fence)) this.apply({ type: 'cut', cut: 'lost' });
  }

  /** The node lost all claims: aborts the run synchronously, since other nodes may claim the event. */
  onTenureEnded(): void {
    if (this.#claim.dropEnded()) this.apply({ type: 'cut', cut: 'lost' });
  }

  // For the machine.

  abort(): void {
    this.#attempt?.abort(this.#life.cut, this.queue.patienceMs);
  }

  /** Handles a failure of the actor. */
  crashed(error: unknown): void {
    this.ref = undefined;
    this.#crash = this.queue.noteOf(error);
    this.queue.record.fault(this, this.#crash);
    this.apply({ type: 'crash' });
  }

  // For the attempt.

  noteOf(error: unknown): string {
    return this.queue.noteOf(error);
  }

  keep(attempt: Attempt, state: string | null | undefined, effects: Effects): Promise<void> {
    const isCurrent = () =>
      attempt === this.#attempt && this.#life.phase === 'running' && this.#life.cut !== 'lost';
    return new Promise((resolve, reject) => {
      checkState(state);
      if (!isCurrent()) throw claimLost();
      const { turn } = this.#claim;
      attempt.checkpoint = new Checkpoint(turn, state, effects, {
        hasLostClaim: () => !isCurrent() || this.#claim.isOver(performance.now()),
        onKept: ({ attempt: goesOnAs = turn.event.attempt }) => {
          if (isCurrent())
            this.#claim.goOn(goesOnAs, state === undefined ? turn.event.state : (state ?? undefined));
          resolve();
        },
        reject,
      });
      this.queue.committer.add(attempt.checkpoint);
    });
  }

  // For the commit of the turn.

  onCommitted({ isCurrent, next }: Committed, result: TurnResult): void {
    const { record, work } = this.queue;
    const { snapshot, heldBy } = result;
    if (isCurrent) record.committed(this, result, next);
    else record.lost(this);
    if (isCurrent && heldBy !== undefined) work.onHeld?.(heldBy);
    if (isCurrent && next !== undefined) {
      const left = snapshot === undefined ? this.#claim.turn.snapshot : (snapshot ?? undefined);
      this.#begin(this.#claim.after(next, left));
    } else this.apply({ type: 'over' });
  }

  #begin(claimed: ClaimedTurn): void {
    this.#claim.begin(claimed);
    // The process may have been suspended since the claim, and the membership may be over.
    const cut = this.queue.isStopping ? 'stopped' : claimed.tenure.isOver ? 'lost' : undefined;
    this.apply({ type: 'turn', cut });
  }

  #do(command: MailboxCommand): void {
    const { queue } = this;
    if (command.do === 'start') this.#start();
    else if (command.do === 'tell') this.#tell(command.type);
    else if (command.do === 'abort') this.abort();
    else if (command.do === 'yieldPlace') queue.yieldPlace(this);
    else if (command.do === 'noteLoss') queue.record.lost(this);
    else if (command.do === 'rejectCheckpoint') this.#attempt?.checkpoint?.onGivenUp();
    else if (command.do === 'commit')
      queue.committer.add(new TurnCommit(this, this.#claim, () => this.#outcomeOf(command.end)));
    else if (command.do === 'rest') this.#rest();
    else queue.forget(this);
  }

  #outcomeOf(end: TurnEnd): Outcome | 'none' | undefined {
    if (end === 'outcome') return this.#attempt?.judge(this.#life);
    return end === 'fault' ? faultOutcome(this.#crash) : 'none';
  }

  #tell(type: ConversationEvent['type']): void {
    if (this.ref !== undefined) tell(this.ref, { type, attempt: this.event.attempt });
  }

  #start(): void {
    const { queue } = this;
    const attempt = new Attempt();
    this.#attempt = attempt;
    queue.occupy(this);
    if (this.ref === undefined) queue.open(this);
    if (this.#life.cut === undefined) attempt.start(queue.work, this.#claim.turn, this);
    else queueMicrotask(() => this.apply({ type: 'ended' }));
  }

  /** Rests, or begins the queued turn. */
  #rest(): void {
    const waiting = this.#claim.end();
    this.#attempt = undefined;
    if (waiting !== undefined) this.#begin(waiting);
    else if (this.ref === undefined) this.queue.forget(this);
    else this.queue.rest(this);
  }
}
