// One active mailbox: it runs the work for its event, commits the result, and goes on with the next event of its key.
// Its claim is kept in claim.ts, the end of its turn is committed in turn-commit.ts.
//
//   resting ── a turn ──► running ──► ended ──► committing ── the next turn, or ──► resting
//
// A run that lasts, or is told to end, is the matter of the machine (machines/conversation.ts), which calls the methods
// under "for the machine"; a run that ends within a moment never reaches it. The other methods are called for the store.
//
// Nothing is told to a run before the machine knows of it.
//
// MB1  there is never a second run before the first has really ended, not even under a new claim (A4). A handler that goes
//      on although its signal was aborted keeps its claim, and so its conversation waits for it; its place is given
//      back after a while.
// MB2  one that rests keeps nothing of what it has handled.
// MB3  a fault in its actor ends the actor only: the run is told to end and waited for, the attempt has failed, and
//      the next turn gets an actor of its own.

import type { AnyActorRef } from 'xstate';
import type { ConversationEvent } from '../../../machines/conversation.ts';
import type { Linked } from '../../base/bounds/linked-list.ts';
import { tell } from '../../base/supervision/dead-letters.ts';
import type { Committed, StoredEvent, TurnRef, TurnResult } from '../../store/store.ts';
import { Attempt, type AttemptHost, type Cut } from './attempt.ts';
import { Checkpoint, checkState, claimLost } from './checkpoint.ts';
import { Claim, type ClaimedTurn } from './claim.ts';
import { TurnCommit } from './turn-commit.ts';
import type { Effects } from './work.ts';
import type { WorkQueue } from './work-queue.ts';

/** A run that goes on for longer is an actor of its own. */
const MOMENT_MS = 100;

export class Mailbox implements Linked<Mailbox>, AttemptHost {
  readonly key: string;
  readonly queue: WorkQueue;
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
  readonly #commit: TurnCommit;
  #phase: 'resting' | 'running' | 'ended' | 'committing' = 'resting';
  #isSurrendered = false;

  /** Of the turn, from the beginning of its run. */
  #attempt: Attempt | undefined;
  #checkpoint: Checkpoint | undefined;
  #whenEnded: (() => void) | undefined;

  /** The new mailbox rests until a turn is offered. */
  constructor(queue: WorkQueue, key: string) {
    this.queue = queue;
    this.key = key;
    this.#claim = new Claim(key);
    this.#commit = new TurnCommit(this, this.#claim);
  }

  get event(): StoredEvent {
    return this.#claim.turn.event;
  }

  /** How long the run took, in milliseconds. */
  get tookMs(): number {
    return this.#attempt?.tookMs ?? 0;
  }

  /** The claim to be renewed, which is the newest; none once that is lost, since nobody would use it. */
  claim(): TurnRef | undefined {
    return this.#attempt?.cut === 'lost' ? this.#claim.waiting : this.#claim.newest;
  }

  /** A claim has brought a turn. */
  offer(claimed: ClaimedTurn): void {
    if (this.#phase === 'resting') {
      this.#goOn(claimed);
      return;
    }
    this.#claim.wait(claimed);
    this.#loseClaim();
  }

  /** Looks whether something is overdue; `now` in performance.now() milliseconds. */
  tick(now: number): void {
    const attempt = this.#attempt;
    if (this.#phase !== 'running' || attempt === undefined) return;
    if (attempt.ageMs(now) >= MOMENT_MS) this.#last();
    if (attempt.isOverdue(now)) {
      attempt.cut = 'deadline';
      this.#tell({ type: 'deadline' });
    } else if (this.hasPlace && attempt.isStubborn(now) && this.queue.hasRoomForOverruns) {
      if (this.ref === undefined) this.yieldPlace();
      else this.#tell({ type: 'patience.over' });
    }
  }

  /** The gateway stops: the run is told to end. */
  stop(): void {
    this.#cutShort('stopped');
  }

  /** The event is cancelled: its run is told to end. False when no run is under way. */
  cancel(note: string): boolean {
    return this.#cutShort('cancelled', note);
  }

  /** The gateway stops, and the run does not end: its claim is given back all the same, since the process ends. */
  surrender(): void {
    if (this.#phase !== 'running' && this.#phase !== 'ended') return;
    this.#isSurrendered = true;
    // Whoever waits for it would wait for ever.
    this.#checkpoint?.onGivenUp();
    this.#commit.stopped();
    this.#phase = 'committing';
  }

  onRenewed(fence: number, heldUntil: number): void {
    this.#claim.onRenewed(fence, heldUntil);
  }

  /** The store could not be asked; `askedAt` in performance.now() milliseconds. */
  onNotRenewed(askedAt: number): void {
    this.#claim.dropOverdue(askedAt);
    if (this.#claim.isOver(askedAt)) this.#loseClaim();
  }

  /** The store no longer knows the claim; where a commit is under way its answer says what became of it. */
  onMissed(fence: number): void {
    if (this.#claim.onMissed(fence)) this.#loseClaim();
  }

  /** The node has lost what it had claimed: others may have it now, and what runs is to end before this returns. */
  onTenureEnded(): void {
    if (this.#claim.dropEnded()) this.#loseClaim();
  }

  // For the machine.

  /** The run of the turn is an actor from now on; `ended` is called once, later, when it is over. */
  follow(ended: () => void): void {
    this.#whenEnded = ended;
  }

  abort(): void {
    this.#attempt?.abort(this.queue.patienceMs);
  }

  yieldPlace(): void {
    this.queue.yieldPlace(this);
  }

  /** The run is over. */
  settle(): void {
    if (this.#isSurrendered) return;
    if (this.#attempt?.cut === 'lost') this.#rest();
    else {
      this.#commit.judged(this.#attempt);
      this.#phase = 'committing';
    }
  }

  /** The run's actor has been stopped before the run had ended: by a fault of the machine, or with the whole tree. */
  abandon(): void {
    if (this.#phase !== 'running' || this.#attempt === undefined) return;
    this.#attempt.cut ??= 'fault';
    this.abort();
  }

  /** Its actor has failed by a fault, and is gone. */
  crashed(error: unknown): void {
    this.ref = undefined;
    this.queue.record.fault(this, this.queue.noteOf(error));
    if (this.#phase === 'resting') this.queue.forget(this);
    else if (this.#phase === 'running') {
      this.abandon();
      this.#whenEnded = () => this.#commitFault(error);
    } else if (this.#phase === 'ended') this.#commitFault(error);
  }

  // For the attempt.

  noteOf(error: unknown): string {
    return this.queue.noteOf(error);
  }

  keep(attempt: Attempt, state: string | null | undefined, effects: Effects): Promise<void> {
    const isOver = () => this.#isSurrendered || attempt !== this.#attempt || attempt.cut === 'lost';
    return new Promise((resolve, reject) => {
      checkState(state);
      if (isOver() || this.#phase !== 'running') throw claimLost();
      const { turn } = this.#claim;
      const commit = new Checkpoint({
        claim: turn,
        event: turn.event,
        state,
        effects,
        hasLostClaim: () => isOver() || this.#commit.hasLostClaim(),
        onKept: ({ attempt: goesOnAs = turn.event.attempt }) => {
          if (!isOver())
            this.#claim.goOn(goesOnAs, state === undefined ? turn.event.state : (state ?? undefined));
          resolve();
        },
        reject,
      });
      this.#checkpoint = commit;
      this.queue.committer.add(commit);
    });
  }

  ended(): void {
    if (this.#phase === 'running') this.#phase = 'ended';
    if (this.#whenEnded === undefined) this.settle();
    else this.#whenEnded();
  }

  // For the commit of the turn.

  onCommitted({ isCurrent, next }: Committed, result: TurnResult): void {
    const { snapshot, heldBy } = result;
    if (isCurrent) this.queue.record.committed(this, result, next);
    else this.queue.record.lost(this);
    if (isCurrent && heldBy !== undefined) this.queue.work.onHeld?.(heldBy);
    if (this.#isSurrendered) this.queue.forget(this);
    else if (isCurrent && next !== undefined) {
      const left = snapshot === undefined ? this.#claim.turn.snapshot : (snapshot ?? undefined);
      this.#goOn(this.#claim.after(next, left));
    } else this.#leave();
  }

  onGivenUp(): void {
    this.queue.record.lost(this);
    if (this.#isSurrendered) this.queue.forget(this);
    else this.#leave();
  }

  /** Begins a turn, and starts its run. */
  #goOn(claimed: ClaimedTurn): void {
    const { queue } = this;
    this.#claim.begin(claimed);
    this.#commit.clear();
    this.#checkpoint = undefined;
    this.#whenEnded = undefined;
    queue.occupy(this);
    if (this.ref === undefined) queue.open(this);
    const attempt = new Attempt();
    this.#attempt = attempt;
    this.#phase = 'running';
    if (queue.isStopping) attempt.skip(this);
    // Before anything is begun, since the process may have stood still meanwhile.
    else if (claimed.tenure.isOver) attempt.drop(this);
    else attempt.start(queue.work, claimed.turn, this);
  }

  /** There is nothing more to do under this claim. */
  #leave(): void {
    if (this.ref !== undefined) {
      this.#rest();
      return;
    }
    const waiting = this.#claim.end();
    if (waiting === undefined) this.queue.forget(this);
    else this.#goOn(waiting);
  }

  #rest(): void {
    const waiting = this.#claim.end();
    this.#phase = 'resting';
    this.#attempt = undefined;
    this.#checkpoint = undefined;
    this.#commit.clear();
    this.queue.rest(this);
    if (waiting !== undefined) this.#goOn(waiting);
  }

  /** Hands the run that is under way to the machine. */
  #last(): void {
    if (this.#whenEnded === undefined && this.ref !== undefined)
      tell(this.ref, { type: 'lasting', attempt: this.event.attempt });
  }

  #tell(event: ConversationEvent): void {
    this.#last();
    if (this.ref !== undefined) tell(this.ref, event);
  }

  #cutShort(cut: Cut, note?: string): boolean {
    const attempt = this.#attempt;
    if (this.#phase !== 'running' || attempt === undefined || attempt.cut !== undefined) return false;
    attempt.cut = cut;
    attempt.cancelNote = note;
    this.#tell({ type: 'stop' });
    return true;
  }

  #loseClaim(): void {
    if (this.#phase !== 'running' || this.#attempt === undefined || this.#attempt.cut === 'lost') return;
    this.#attempt.cut = 'lost';
    this.queue.record.lost(this);
    this.#tell({ type: 'claim.lost' });
    // The machine may be in the middle of a step, and hear of it only after that.
    this.abort();
  }

  #commitFault(error: unknown): void {
    this.#commit.failed(error);
    this.#phase = 'committing';
  }
}
