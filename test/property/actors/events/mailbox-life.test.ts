// The state machine of a mailbox, which runs the events of one conversation in order (mailbox-life.ts).
// Random sequences of events come from the run, the actor, the store and the drain (the stop of all runs).
// The simulation applies the commands of the machine. It checks that one run executes at a time, that each
// run is committed once with the expected result, and that all important rules are reached.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AbortReason,
  type MailboxCommand,
  type MailboxEvent,
  resting,
  transition,
} from '../../../../actors/events/inbox/mailbox-life.ts';

const abortReasons = ['deadline', 'stopped', 'cancelled', 'lost'] as const;
/**
 * Events of the machine, and: `next` (a turn, the next event, after a commit), `cut turn` (a turn that starts
 * aborted). `surrender`: the drain has timed out, and the claim of the mailbox is returned.
 * `over`: the commit is complete. `moment.over`: the run is long enough for the actor to follow it, and to
 * receive its end. `patience.over`: an aborted run is still executing after the time limit for stopping.
 */
const happening = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...(['turn', 'moment.over', 'actor', 'ended', 'crash'] as const)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...(['next', 'over', 'patience.over', ...abortReasons] as const)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...(['surrender', 'cut turn'] as const)) },
);
type Happening = typeof happening extends fc.Arbitrary<infer Value> ? Value : never;

/** Rules (`PHASE/EVENT`) that the random sequences must reach. */
const rules = [
  'resting/turn',
  'resting/crash',
  'running/ended',
  'running/crash',
  'running/followed',
  'running/surrender',
  'ended/settle',
  'ended/crash',
  'ended/surrender',
  'committing/turn',
  'committing/over',
  'surrendered/over',
];

/** Simulates the run, the actor, its event queue and the store. */
class MailboxSimulation {
  life = resting;
  isRunning = false;
  isCommitting = false;
  /** The drain has timed out during a run. */
  isSurrendered = false;
  /** The actor has crashed in the current run. */
  hasCrashed = false;
  hasActor = false;
  /** The actor has received `lasting` (after `moment.over`), so it follows the run and receives its end. */
  isFollowed = false;
  isAborted = false;
  firstAbortReason: AbortReason | undefined;
  /** Numbers of the commands `noteLoss`, `rejectCheckpoint`, `yieldSlot` and `forget`. */
  losses = 0;
  rejections = 0;
  yields = 0;
  removals = 0;
  /** Events that the actor has not received yet. */
  readonly inbox: string[] = [];
  readonly commits: string[] = [];
  /** Applied rules, as `PHASE/EVENT`. */
  readonly applied = new Set<string>();

  /** Applies a happening if it is possible now. */
  happen(happening: Happening): void {
    const isIdle = !this.isRunning && !this.isCommitting && this.life.phase === 'resting';
    if (happening === 'turn' && isIdle) this.#turn(undefined);
    else if (happening === 'cut turn' && isIdle) this.#turn('stopped');
    else if (happening === 'next' && this.isCommitting && !this.isSurrendered) {
      this.isCommitting = false;
      this.#turn(undefined);
    } else if (happening === 'over' && this.isCommitting) {
      this.isCommitting = false;
      this.apply({ type: 'over' });
    } else if (happening === 'ended' && this.isRunning) {
      // The actor is notified of the end only if it follows the run.
      this.isRunning = false;
      // `settler` commits the result: the mailbox, or the actor that follows the run.
      const isForActor = this.isInRun && this.life.settler === 'actor';
      this.apply({ type: 'ended' });
      expect(this.inbox.at(-1) === 'run.ended').toBe(isForActor);
    } else if (happening === 'actor') this.#actorStep();
    else if (happening === 'crash' && this.hasActor) this.#crash();
    else if (happening === 'surrender') this.#surrender();
    else if (happening === 'moment.over') this.apply({ type: happening });
    else if (happening === 'patience.over') {
      // Without an actor, the machine frees the slot of a run that does not stop.
      const expected = this.yields + (this.isInRun && this.hasCrashed ? 1 : 0);
      this.apply({ type: happening });
      expect(this.yields).toBe(expected);
    } else if (abortReasons.some((reason) => reason === happening)) this.#abort(happening as AbortReason);
  }

  apply(event: MailboxEvent): void {
    this.applied.add(`${this.life.phase}/${event.type}`);
    const [life, ...commands] = transition(this.life, event);
    this.life = life;
    for (const command of commands) this.#do(command);
  }

  /** Completes the run, the events of the actor and the commit. */
  end(): void {
    this.happen('ended');
    while (this.inbox.length > 0) this.happen('actor');
    this.happen('over');
  }

  get isInRun(): boolean {
    return this.life.phase === 'running';
  }

  #turn(abortReason: AbortReason | undefined): void {
    Object.assign(this, { hasCrashed: false, isAborted: false, firstAbortReason: abortReason, losses: 0 });
    this.apply({ type: 'turn', abortReason });
    expect(this.isRunning).toBe(true);
  }

  #abort(reason: AbortReason): void {
    const [isInRun, reasonBefore] = [this.isInRun, this.life.abortReason];
    this.apply({ type: 'abort', reason });
    if (!isInRun) return;
    this.firstAbortReason ??= reason;
    // A lost claim overrides every other reason to abort.
    const isLost = reason === 'lost' || reasonBefore === 'lost';
    expect(this.life.abortReason).toBe(isLost ? 'lost' : this.firstAbortReason);
    if (reason === 'lost' && reasonBefore !== 'lost')
      expect([this.losses, this.isAborted]).toEqual([1, true]);
  }

  #crash(): void {
    const { isInRun, isRunning, life, removals } = this;
    // XState stops a failed actor's children first.
    if (this.isFollowed) this.apply({ type: 'abandon' });
    Object.assign(this, { hasActor: false, isFollowed: false });
    this.inbox.length = 0;
    if (isInRun || life.phase === 'ended') this.hasCrashed = true;
    if (isInRun) this.firstAbortReason ??= 'fault';
    this.apply({ type: 'crash' });
    // After a crash, the run is aborted, and the mailbox stays busy until the run completes.
    if (isInRun) expect([this.isInRun, this.isRunning, this.isAborted]).toEqual([true, isRunning, true]);
    // A mailbox without work is removed.
    expect(this.removals - removals).toBe(life.phase === 'resting' ? 1 : 0);
  }

  #surrender(): void {
    const hasOpenRun = this.isInRun || this.life.phase === 'ended';
    const { rejections } = this;
    this.isSurrendered ||= hasOpenRun;
    this.apply({ type: 'surrender' });
    // A surrender rejects the pending checkpoint, and commits the return of the claim as the last commit.
    expect(this.rejections - rejections).toBe(hasOpenRun ? 1 : 0);
    if (hasOpenRun) expect(this.commits.at(-1)).toBe('return');
  }

  /** The actor receives its next event. */
  #actorStep(): void {
    const type = this.inbox.shift();
    if (type === 'lasting' && !this.isFollowed) {
      this.isFollowed = true;
      this.apply({ type: 'followed' });
    } else if (type === 'run.ended' && this.isFollowed) {
      this.isFollowed = false;
      this.apply({ type: 'settle' });
    }
  }

  #do(command: MailboxCommand): void {
    if (command.do === 'start') {
      // One run at a time.
      expect([this.isRunning, this.isCommitting, this.isSurrendered]).toEqual([false, false, false]);
      Object.assign(this, { isRunning: true, hasActor: true });
    } else if (command.do === 'tell') {
      expect(this.hasActor).toBe(true);
      if (command.type === 'run.ended') expect([this.isRunning, this.life.settler]).toEqual([false, 'actor']);
      this.inbox.push(command.type);
    } else if (command.do === 'abort') this.isAborted = true;
    else if (command.do === 'noteLoss') this.losses += 1;
    else if (command.do === 'rejectCheckpoint') this.rejections += 1;
    else if (command.do === 'yieldSlot') this.yields += 1;
    else if (command.do === 'commit') {
      expect(this.isCommitting).toBe(false);
      if (command.end !== 'return')
        expect([this.isRunning, this.life.abortReason === 'lost']).toEqual([false, false]);
      if (this.isSurrendered) expect(command.end).toBe('return');
      else expect(command.end).toBe(this.hasCrashed ? 'fault' : 'outcome');
      this.isCommitting = true;
      this.commits.push(command.end);
    } else if (command.do === 'rest') {
      expect([this.isRunning, this.isCommitting, this.isSurrendered]).toEqual([false, false, false]);
    } else {
      expect(command.do).toBe('forget');
      expect(this.isCommitting).toBe(false);
      this.removals += 1;
    }
  }
}

test('a mailbox runs one attempt at a time, and commits the expected result once', () => {
  /** Commits and rules across sequences. */
  const seen = new Set<string>();
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 60, size: 'max' }), (happenings) => {
      const mailbox = new MailboxSimulation();
      for (const each of happenings) {
        if (mailbox.isSurrendered && mailbox.life.phase === 'resting') break;
        mailbox.happen(each);
        expect(mailbox.losses).toBeLessThanOrEqual(1);
      }
      mailbox.end();
      expect(mailbox.life).toBe(resting);
      expect(mailbox.isCommitting).toBe(false);
      for (const each of [...mailbox.commits, ...mailbox.applied]) seen.add(each);
    }),
    { numRuns: 1_000 },
  );
  expect(['fault', 'outcome', 'return', ...rules].filter((each) => !seen.has(each))).toEqual([]);
});

test('a mailbox ignores an event for which its state has no rule', () => {
  const types = [
    'moment.over',
    'patience.over',
    'followed',
    'ended',
    'settle',
    'abandon',
    'surrender',
  ] as const;
  const committing = { ...resting, phase: 'committing' } as const;
  for (const type of types) {
    expect(transition(resting, { type })).toEqual([resting]);
    expect(transition(committing, { type })).toEqual([committing]);
  }
});

test('a mailbox whose actor stops during a run aborts the run; later abort reasons are ignored, except a lost claim', () => {
  const [running] = transition(resting, { type: 'turn', abortReason: undefined });
  const [abandoned, ...commands] = transition(running, { type: 'abandon' });
  expect([abandoned.abortReason, commands]).toEqual(['fault', [{ do: 'abort' }]]);
  for (const reason of ['deadline', 'stopped', 'cancelled'] as const)
    expect(transition(abandoned, { type: 'abort', reason })).toEqual([abandoned]);
  expect(transition(abandoned, { type: 'abort', reason: 'lost' })[0].abortReason).toBe('lost');
});
