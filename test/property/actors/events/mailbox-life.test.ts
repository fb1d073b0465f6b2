// The mailbox state machine under random interleavings of run, actor, store and drain.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AbortReason,
  type MailboxCommand,
  type MailboxEvent,
  resting,
  transition,
} from '../../../../actors/events/inbox/mailbox-life.ts';

const cuts = ['deadline', 'stopped', 'cancelled', 'lost'] as const;
const happening = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...(['turn', 'moment.over', 'actor', 'ended', 'crash'] as const)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...(['next', 'over', 'patience.over', ...cuts] as const)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...(['surrender', 'cut turn'] as const)) },
);
type Happening = typeof happening extends fc.Arbitrary<infer Value> ? Value : never;

/** Rules that the sequences must reach. */
const rules = [
  ...[
    'resting/turn',
    'resting/crash',
    'running/ended',
    'running/crash',
    'running/followed',
    'running/surrender',
  ],
  ...[
    'ended/settle',
    'ended/crash',
    'ended/surrender',
    'committing/turn',
    'committing/over',
    'surrendered/over',
  ],
];

/** Simulates the run, the actor, its event queue and the store. */
class SimulatedMailbox {
  life = resting;
  isRunning = false;
  isCommitting = false;
  isSurrendered = false;
  hasCrashed = false;
  hasActor = false;
  isFollowed = false;
  isAborted = false;
  firstCut: AbortReason | undefined;
  losses = 0;
  rejections = 0;
  yields = 0;
  removals = 0;
  readonly inbox: string[] = [];
  readonly commits: string[] = [];
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
      this.isRunning = false;
      const isForActor = this.isUnderWay && this.life.settler === 'actor';
      this.apply({ type: 'ended' });
      expect(this.inbox.at(-1) === 'run.ended').toBe(isForActor);
    } else if (happening === 'actor') this.#actorStep();
    else if (happening === 'crash' && this.hasActor) this.#crash();
    else if (happening === 'surrender') this.#surrender();
    else if (happening === 'moment.over') this.apply({ type: happening });
    else if (happening === 'patience.over') {
      const expected = this.yields + (this.isUnderWay && this.hasCrashed ? 1 : 0);
      this.apply({ type: happening });
      expect(this.yields).toBe(expected);
    } else if (cuts.some((cut) => cut === happening)) this.#cut(happening as AbortReason);
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

  get isUnderWay(): boolean {
    return this.life.phase === 'running';
  }

  #turn(cut: AbortReason | undefined): void {
    Object.assign(this, { hasCrashed: false, isAborted: false, firstCut: cut, losses: 0 });
    this.apply({ type: 'turn', abortReason: cut });
    expect(this.isRunning).toBe(true);
  }

  #cut(cut: AbortReason): void {
    const [isUnderWay, before] = [this.isUnderWay, this.life.abortReason];
    this.apply({ type: 'abort', reason: cut });
    if (!isUnderWay) return;
    this.firstCut ??= cut;
    // A lost claim overrides every other reason to abort.
    expect(this.life.abortReason).toBe(cut === 'lost' || before === 'lost' ? 'lost' : this.firstCut);
    if (cut === 'lost' && before !== 'lost') expect([this.losses, this.isAborted]).toEqual([1, true]);
  }

  #crash(): void {
    const { isUnderWay, isRunning, life, removals } = this;
    // XState stops the children of a failed actor first.
    if (this.isFollowed) this.apply({ type: 'abandon' });
    Object.assign(this, { hasActor: false, isFollowed: false });
    this.inbox.length = 0;
    if (isUnderWay || life.phase === 'ended') this.hasCrashed = true;
    if (isUnderWay) this.firstCut ??= 'fault';
    this.apply({ type: 'crash' });
    // A crash of the actor keeps the mailbox busy.
    if (isUnderWay)
      expect([this.isUnderWay, this.isRunning, this.isAborted]).toEqual([true, isRunning, true]);
    expect(this.removals - removals).toBe(life.phase === 'resting' ? 1 : 0);
  }

  #surrender(): void {
    const isDue = this.isUnderWay || this.life.phase === 'ended';
    const { rejections } = this;
    this.isSurrendered ||= isDue;
    this.apply({ type: 'surrender' });
    // A surrender commits the return of the claim, as the last commit.
    expect(this.rejections - rejections).toBe(isDue ? 1 : 0);
    if (isDue) expect(this.commits.at(-1)).toBe('return');
  }

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
      const end = this.isSurrendered ? 'return' : this.hasCrashed ? 'fault' : 'outcome';
      expect(command.end).toBe(end);
      this.isCommitting = true;
      this.commits.push(command.end);
    } else if (command.do === 'rest') {
      expect([this.isRunning, this.isCommitting, this.isSurrendered]).toEqual([false, false, false]);
    } else {
      expect(this.isCommitting).toBe(false);
      this.removals += 1;
    }
  }
}

test('a mailbox runs one attempt at a time, and commits the expected result once', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 60, size: 'max' }), (happenings) => {
      const around = new SimulatedMailbox();
      for (const each of happenings) {
        if (around.isSurrendered && around.life.phase === 'resting') break;
        around.happen(each);
        expect(around.losses).toBeLessThanOrEqual(1);
      }
      around.end();
      expect(around.life).toBe(resting);
      expect(around.isCommitting).toBe(false);
      for (const each of [...around.commits, ...around.applied]) seen.add(each);
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

test('the stop of a mailbox aborts its run, and later reasons to abort are ignored, except a lost claim', () => {
  const [running] = transition(resting, { type: 'turn', abortReason: undefined });
  const [abandoned, ...commands] = transition(running, { type: 'abandon' });
  expect([abandoned.abortReason, commands]).toEqual(['fault', [{ do: 'abort' }]]);
  for (const cut of ['deadline', 'stopped', 'cancelled'] as const)
    expect(transition(abandoned, { type: 'abort', reason: cut })).toEqual([abandoned]);
  expect(transition(abandoned, { type: 'abort', reason: 'lost' })[0].abortReason).toBe('lost');
});
