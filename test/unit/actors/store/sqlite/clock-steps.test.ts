// A clock step of an hour forward does not shorten claims of running events. Timers are due by the new time.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SqliteEngine } from '../../../../../actors/store/sqlite/engine.ts';
import { newEvent } from '../../../../fixtures/automation/inbox.ts';
import { storeFolder } from '../../../../fixtures/store/engine-store.ts';

const HOUR_MS = 3_600_000;
const folder = storeFolder();
let files = 0;

class Clock {
  time = Date.UTC(2026, 10, 22);
  uptime = 5_000;

  pass(ms: number): void {
    this.time += ms;
    this.uptime += ms;
  }
}

function open() {
  const clock = new Clock();
  const engine = new SqliteEngine({
    file: join(folder, `${++files}.sqlite`),
    retentionMs: 24 * HOUR_MS,
    snapshotRetentionMs: 24 * HOUR_MS,
    maxWaiting: 100,
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

test('a retry pause is over when the clock reaches its end', () => {
  const { clock, engine, claim } = open();
  engine.transaction(() => engine.append([newEvent('conversation/a', 'a1')]));
  const [turn] = engine.transaction(() => engine.claim(1, 1_000));
  if (turn === undefined) throw new Error('it was to be claimed');
  const { key, fence, event } = turn;
  engine.transaction(() =>
    engine.commit([{ key, fence, seq: event.seq, outcome: 'retrying', retryInMs: HOUR_MS }]),
  );
  expect(claim()).toEqual([]);
  clock.time += HOUR_MS;
  expect(claim()).toEqual(['a1']);
  engine.close();
});
