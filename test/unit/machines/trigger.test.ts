// The state machine of a trigger, with simulated resources: alone, and under a supervisor.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import type { ChildChange } from '../../../machines/child.ts';
import { restartPolicy } from '../../../machines/policy.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import { triggerMachine } from '../../../machines/trigger.ts';

interface Pending {
  readonly what: 'open' | 'close';
  resolve(): void;
  reject(error: Error): void;
}

/** Resources that the test opens and closes, one operation at a time. */
class Doors {
  pending: Pending | undefined;
  isOpen = false;
  opened = 0;
  closed = 0;

  readonly logic = triggerMachine.provide({
    actors: {
      open: fromPromise(() => {
        expect(this.isOpen).toBe(false);
        return this.#wait('open').then(() => {
          this.isOpen = true;
          return ++this.opened;
        });
      }),
      close: fromPromise(async ({ input }) => {
        expect(input.openResource).toBe(this.opened);
        try {
          await this.#wait('close');
        } finally {
          this.isOpen = false;
          this.closed += 1;
        }
      }),
    },
  });

  #wait(what: Pending['what']): Promise<void> {
    expect(this.pending).toBeUndefined();
    return new Promise<void>((resolve, reject) => {
      this.pending = { what, resolve, reject };
    });
  }

  async end(error?: Error): Promise<void> {
    const { pending } = this;
    this.pending = undefined;
    if (error === undefined) pending?.resolve();
    else pending?.reject(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function start(isPaused = false) {
  const doors = new Doors();
  const input = { key: 'deploy', generation: 1, isPaused };
  const actor = createActor(doors.logic, { input }).start();
  return { doors, actor, state: () => actor.getSnapshot().value };
}

describe('a trigger', () => {
  test('opens, is paused and resumed without effects, and closes its resources', async () => {
    const { doors, actor, state } = start();
    expect(state()).toBe('opening');
    await doors.end();
    expect(state()).toBe('open');
    actor.send({ type: 'pause' });
    expect([state(), actor.getSnapshot().context.isPaused, doors.isOpen]).toEqual(['paused', true, true]);
    actor.send({ type: 'resume' });
    expect([state(), actor.getSnapshot().context.isPaused]).toEqual(['open', false]);
    actor.send({ type: 'shutdown' });
    expect([state(), doors.isOpen]).toEqual(['closing', true]);
    await doors.end();
    expect([state(), doors.opened, doors.closed]).toEqual(['ended', 1, 1]);
    expect(actor.getSnapshot().context.openResource).toBeUndefined();
  });

  test('that was paused before it opened is paused afterwards, also after a failure', async () => {
    const { doors, actor, state } = start(true);
    await doors.end(new Error('refused'));
    expect(state()).toBe('failed');
    actor.send({ type: 'due' });
    await doors.end();
    expect(state()).toBe('paused');
    actor.send({ type: 'lost', error: new Error('gone') });
    actor.send({ type: 'resume' });
    await doors.end();
    expect(state()).toBe('failed');
    actor.send({ type: 'start' });
    await doors.end();
    expect(state()).toBe('open');
  });

  test('with a refused connection keeps its resources, remembers pause and resume, and continues when the connection is restored', async () => {
    const { doors, actor, state } = start();
    const refusal = () => actor.getSnapshot().context.refusal;
    actor.send({ type: 'refused', reason: 'Unauthorized' });
    await doors.end();
    expect([state(), refusal(), doors.isOpen]).toEqual(['refused', 'Unauthorized', true]);
    actor.send({ type: 'refused', reason: 'Conflict' });
    actor.send({ type: 'pause' });
    expect([state(), refusal()]).toEqual(['refused', 'Conflict']);
    actor.send({ type: 'restored' });
    expect([state(), refusal()]).toEqual(['paused', undefined]);
    actor.send({ type: 'refused', reason: 'Unauthorized' });
    actor.send({ type: 'resume' });
    actor.send({ type: 'restored' });
    expect([state(), doors.opened]).toEqual(['open', 1]);
    actor.send({ type: 'refused', reason: 'Unauthorized' });
    actor.send({ type: 'shutdown' });
    await doors.end();
    expect([state(), doors.closed, refusal()]).toEqual(['ended', 1, undefined]);
  });

  test('that is stopped while opening closes after it has opened', async () => {
    const { doors, actor, state } = start();
    actor.send({ type: 'shutdown' });
    expect(state()).toBe('opening');
    await doors.end();
    expect([state(), doors.isOpen]).toEqual(['closing', true]);
    await doors.end();
    expect([state(), doors.isOpen]).toEqual(['ended', false]);
  });

  test('that cannot be closed ends nevertheless', async () => {
    const { doors, actor, state } = start();
    await doors.end();
    actor.send({ type: 'shutdown' });
    await doors.end(new Error('stuck'));
    expect(state()).toBe('ended');
  });

  test('reports each failure to its supervisor, which reopens it after a pause', async () => {
    const doors = new Doors();
    const clock = new SimulatedClock();
    const changes: ChildChange[] = [];
    const spec = {
      key: 'deploy',
      logic: doors.logic,
      policy: restartPolicy({
        intensity: 2,
        period_seconds: 60,
        min_backoff_ms: 100,
        max_backoff_seconds: 1,
        park_seconds: 60,
      }),
      shutdownMs: 1_000,
    };
    const supervisor = createActor(supervisorMachine, {
      clock,
      input: {
        path: 'triggers',
        now: () => clock.now(),
        random: () => 0,
        children: [spec],
        onChange: (change: ChildChange) => changes.push(change),
      },
    }).start();
    const changeTexts = () => changes.map(({ what }) => what);
    await doors.end(new Error('no route'));
    expect(changeTexts()).toEqual(['started', 'restarting']);
    expect(changes[1]).toMatchObject({ inMs: 100, error: new Error('no route') });
    clock.increment(100);
    expect(doors.pending?.what).toBe('open');
    await doors.end(new Error('no route'));
    clock.increment(200);
    await doors.end(new Error('no route'));
    expect(changeTexts()).toEqual([
      'started',
      'restarting',
      'restarted',
      'restarting',
      'restarted',
      'parked',
    ]);
    supervisor.send({ type: 'child.wake', key: 'deploy' });
    await doors.end();
    expect(doors.isOpen).toBe(true);
    supervisor.send({ type: 'shutdown' });
    await doors.end();
    expect([doors.isOpen, supervisor.getSnapshot().value]).toEqual([false, 'stopped']);
  });

  test('closes as often as it opens, and ends on request, for any sequence of events', async () => {
    const eventName = fc.constantFrom(
      'ok',
      'ok',
      'fail',
      'pause',
      'resume',
      'lost',
      'due',
      'start',
      'refused',
      'restored',
      'shutdown',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(eventName, { maxLength: 25 }), async (changeTexts) => {
        const { doors, actor, state } = start();
        let isPaused = false;
        for (const each of changeTexts) {
          if (each === 'ok') await doors.end();
          else if (each === 'fail') await doors.end(new Error('fail'));
          else if (each === 'lost') actor.send({ type: 'lost', error: new Error('lost') });
          else if (each === 'refused') actor.send({ type: 'refused', reason: 'Unauthorized' });
          else actor.send({ type: each });
          if (actor.getSnapshot().status !== 'active') break;
          if (each === 'pause') isPaused = true;
          if (each === 'resume') isPaused = false;
          expect(actor.getSnapshot().context.isPaused).toBe(isPaused);
          if (state() === 'open' || state() === 'paused')
            expect([state(), doors.isOpen]).toEqual([isPaused ? 'paused' : 'open', true]);
          if (state() === 'failed') expect(doors.isOpen).toBe(false);
          const { refusal } = actor.getSnapshot().context;
          if (state() === 'refused') expect([refusal, doors.isOpen]).toEqual(['Unauthorized', true]);
          if (state() === 'open' || state() === 'paused') expect(refusal).toBeUndefined();
        }
        actor.send({ type: 'shutdown' });
        for (let i = 0; i < 3 && actor.getSnapshot().status === 'active'; i += 1) await doors.end();
        expect([state(), doors.closed, doors.isOpen]).toEqual(['ended', doors.opened, false]);
      }),
      { numRuns: 200 },
    );
  });
});
