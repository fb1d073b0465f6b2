// The invariants A8 and A9 are in ARCHITECTURE.md.

import { describe, expect, test } from 'vitest';
import { createActor, createMachine, fromCallback } from 'xstate';
import {
  DeadLetters,
  deadLettersOf,
  hasEnded,
  sendOrCount,
} from '../../../../../actors/base/supervision/dead-letters.ts';

const counter = createMachine({
  initial: 'on',
  states: { on: { on: { end: 'off' } }, off: { type: 'final' } },
});

describe('sendOrCount', () => {
  test('sends the event to a live actor and counts nothing', () => {
    const actor = createActor(counter).start();
    expect(sendOrCount(actor, { type: 'end' })).toBe(true);
    expect(actor.getSnapshot().status).toBe('done');
    expect(deadLettersOf(actor.system).count).toBe(0);
  });

  test('counts a dead letter for an actor that is done, stopped or failed', () => {
    const done = createActor(counter).start();
    done.send({ type: 'end' });
    const stopped = createActor(fromCallback(() => {})).start();
    stopped.stop();
    const failed = createActor(
      createMachine({
        context: () => {
          throw new Error('no');
        },
      }),
    );
    failed.subscribe({ error: () => {} });
    failed.start();
    for (const actor of [done, stopped, failed]) {
      expect(hasEnded(actor)).toBe(true);
      expect(sendOrCount(actor, { type: 'hello' })).toBe(false);
      expect(deadLettersOf(actor.system)).toMatchObject({
        count: 1,
        recent: [{ type: 'hello', target: actor.id }],
      });
    }
  });

  test('stores no payload of a dead letter (A9)', () => {
    const actor = createActor(counter).start();
    actor.stop();
    sendOrCount(actor, { type: 'login', password: 'hunter2' });
    expect(JSON.stringify(deadLettersOf(actor.system).recent)).toBe(
      JSON.stringify([{ type: 'login', target: actor.id }]),
    );
  });

  test('counts the dead letters of each actor system separately', () => {
    const [one, two] = [createActor(counter).start(), createActor(counter).start()];
    one.stop();
    two.stop();
    sendOrCount(one, { type: 'hello' });
    expect(deadLettersOf(one.system).count).toBe(1);
    expect(deadLettersOf(two.system).count).toBe(0);
  });
});

test('DeadLetters counts all dead letters and stores the last 100 (A8)', () => {
  const letters = new DeadLetters();
  for (let i = 0; i < 250; i++) letters.add({ type: `e${i}`, target: 'x#1' });
  expect(letters.count).toBe(250);
  expect(letters.recent).toHaveLength(100);
  expect(letters.recent[0]).toEqual({ type: 'e150', target: 'x#1' });
  expect(letters.recent.at(-1)).toEqual({ type: 'e249', target: 'x#1' });
});
