// A clock step of an hour neither ends nor extends the claim of a running event, a retry pause, a timer or an
// approval.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SqliteEngine } from '../../../../../actors/store/sqlite/engine.ts';
import { newEvent } from '../../../../fixtures/automation/inbox.ts';
import { storeFolder } from '../../../../fixtures/store/engine-store.ts';

const HOUR_MS = 3_600_000;
const folder = storeFolder();
let files = 0;

class Clock {
  time: number;
  uptime = 5_000;

  constructor(time: number) {
    this.time = time;
  }

  pass(ms: number): void {
    this.time += ms;
    this.uptime += ms;
  }
}

function open(file = join(folder, `${++files}.sqlite`), time = Date.UTC(2026, 10, 22)) {
  const clock = new Clock(time);
  const engine = new SqliteEngine({
    file,
    retentionMs: 24 * HOUR_MS,
    snapshotRetentionMs: 24 * HOUR_MS,
    maxWaiting: 100,
    maxParked: 100,
    now: () => clock.time,
    uptime: () => clock.uptime,
  });
  const claim = () => engine.transaction(() => engine.claim(10, 1_000)).map(({ event }) => event.id);
  return { clock, engine, claim };
}

test('a claim does not end by a clock step, only when its time has elapsed', () => {
  const { clock, engine, claim } = open();
  engine.transaction(() => engine.append([newEvent('conversation/a', 'a1')], 30_000));
  clock.time += HOUR_MS;
  expect(claim()).toEqual([]);
  clock.pass(29_000);
  expect(claim()).toEqual([]);
  clock.pass(2_000);
  expect(claim()).toEqual(['a1']);
  engine.close();
});

test('a clock that is set back neither ends nor extends a claim', () => {
  const { clock, engine, claim } = open();
  engine.transaction(() => engine.append([newEvent('conversation/a', 'a1')], 30_000));
  clock.time -= HOUR_MS;
  expect(claim()).toEqual([]);
  clock.pass(31_000);
  expect(claim()).toEqual(['a1']);
  engine.close();
});

test('after a failed transaction the next transaction handles the clock step', () => {
  const { clock, engine, claim } = open();
  engine.transaction(() => engine.append([newEvent('conversation/a', 'a1')], 30_000));
  clock.time += HOUR_MS;
  const fails = () =>
    engine.transaction(() => {
      throw new Error('the disk is full');
    });
  expect(fails).toThrow('the disk is full');
  expect(fails).toThrow('the disk is full');
  expect(claim()).toEqual([]);
  clock.pass(31_000);
  expect(claim()).toEqual(['a1']);
  engine.close();
});

test('a clock step that is reverted before the next transaction does not end a claim', () => {
  const { clock, engine } = open();
  engine.transaction(() => engine.append([newEvent('conversation/a', 'a1')]));
  // The worker computes the next due time while the clock is wrong.
  engine.nextDueAfter(clock.time + HOUR_MS);
  const turns = engine.transaction(() => engine.claim(10, 30_000));
  expect(turns.map(({ event }) => [event.id, event.attempt])).toEqual([['a1', 1]]);
  expect(engine.transaction(() => engine.claim(10, 30_000))).toEqual([]);
  engine.close();
});

test('a due retry stays due after the clock is set back', () => {
  const { clock, engine, claim } = open();
  engine.transaction(() =>
    engine.append([newEvent('conversation/a', 'a1'), newEvent('conversation/a', 'a2')]),
  );
  const [turn] = engine.transaction(() => engine.claim(1, 1_000));
  if (turn === undefined) throw new Error('it was to be claimed');
  const { key, fence, event } = turn;
  engine.transaction(() =>
    engine.commit([{ key, fence, seq: event.seq, outcome: 'retrying', retryInMs: 60_000 }]),
  );
  clock.pass(HOUR_MS);
  // Makes the store check the mailbox, long after the event is due.
  engine.transaction(() => engine.discard('a2', 'not wanted'));
  clock.time -= HOUR_MS;
  expect(claim()).toEqual(['a1']);
  engine.close();
});

test.each([HOUR_MS, -HOUR_MS])('a retry pause keeps its duration at a clock step of %i ms', (byMs) => {
  const { clock, engine, claim } = open();
  engine.transaction(() => engine.append([newEvent('conversation/a', 'a1')]));
  const [turn] = engine.transaction(() => engine.claim(1, 1_000));
  if (turn === undefined) throw new Error('it was to be claimed');
  const { key, fence, event } = turn;
  engine.transaction(() =>
    engine.commit([{ key, fence, seq: event.seq, outcome: 'retrying', retryInMs: 60_000 }]),
  );
  clock.time += byMs;
  expect(claim()).toEqual([]);
  clock.pass(59_000);
  expect(claim()).toEqual([]);
  clock.pass(1_000);
  expect(claim()).toEqual(['a1']);
  engine.close();
});

test.each([HOUR_MS, -HOUR_MS])(
  'an approval keeps its time, and its run its timer, at a clock step of %i ms',
  (byMs) => {
    const { clock, engine, claim } = open();
    engine.transaction(() => engine.append([newEvent('conversation/a', 'a1')]));
    const [turn] = engine.transaction(() => engine.claim(1, 1_000));
    if (turn === undefined) throw new Error('it was to be claimed');
    const { key, fence, event } = turn;
    const asks = [{ id: 'one', body: '{}', expiresInMs: 60_000 }];
    const wakeEvent = { ...newEvent(key, 'timer'), kind: 'timer', wakes: 'yes' };
    const timers = [{ id: 'wake', inMs: 60_000, event: wakeEvent }];
    engine.transaction(() =>
      engine.commit([{ key, fence, seq: event.seq, outcome: 'parked', parkedOn: 'yes', asks, timers }]),
    );
    const expiresInMs = () => engine.transaction(() => engine.approval('one'))?.expiresInMs;
    clock.time += byMs;
    expect(expiresInMs()).toBe(60_000);
    clock.pass(59_000);
    expect([expiresInMs(), claim()]).toEqual([1_000, []]);
    clock.pass(1_000);
    expect([expiresInMs(), claim()]).toEqual([0, ['a1']]);
    engine.close();
  },
);

test('the sum of the clock steps is recorded, also of a step back while the gateway was stopped', () => {
  const file = join(folder, `${++files}.sqlite`);
  const before = open(file);
  expect(before.engine.clockShiftMs).toBe(0);
  for (const byMs of [HOUR_MS, -3 * HOUR_MS, 1_500.4]) {
    before.clock.time += byMs;
    before.engine.followClock();
  }
  expect(before.engine.clockShiftMs).toBe(-2 * HOUR_MS + 1_500);
  before.engine.close();
  const after = open(file, before.clock.time - HOUR_MS);
  expect(after.engine.clockShiftMs).toBe(-3 * HOUR_MS + 1_500);
  after.engine.close();
});
