// Invariant A5 is in ARCHITECTURE.md.

import { describe, expect, test, vi } from 'vitest';
import { createActor, createMachine, fromCallback, fromPromise, SimulatedClock } from 'xstate';
import type { ChildSpec } from '../../../machines/child.ts';
import { RestartLimitError, type RestartPolicy } from '../../../machines/policy.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import { childMachine, policy, SupervisorBench } from '../../fixtures/server/supervised-child.ts';

const boom = { type: 'boom', error: new Error('bug') } as const;
const fail = { type: 'fail', error: new Error('refused') } as const;
const escalate: RestartPolicy = { ...policy, onLimit: 'escalate' };

describe('a supervisor starts children', () => {
  test('from its input, in order, with key and generation', () => {
    const events: unknown[] = [];
    const logic = fromCallback<{ type: 'x' }, unknown>(({ input }) => void events.push(input));
    const spec = (key: string): ChildSpec => ({ key, logic, input: { size: 1 }, policy, shutdownMs: 10 });
    const room = new SupervisorBench({ children: [spec('a'), spec('b')] });
    expect(events).toEqual([
      { size: 1, key: 'a', generation: 1 },
      { size: 1, key: 'b', generation: 2 },
    ]);
    expect(room.phases).toEqual(['a up', 'b up']);
    expect(room.lines).toEqual(['a started', 'b started']);
  });

  test('on command, under the id key#generation and the system id path/key', () => {
    const room = new SupervisorBench();
    room.start('git.hub');
    expect(room.liveIds).toEqual(['git.hub#1']);
    expect(room.actor.system.get('servers/git.hub')).toBe(room.child('git.hub')?.ref);
  });

  test('once: a known key is ignored, also in the input', () => {
    const room = new SupervisorBench();
    const twice = new SupervisorBench({ children: [room.spec('a'), room.spec('a')] });
    room.start('a');
    const first = room.child('a');
    room.start('a');
    expect(room.child('a')).toBe(first);
    expect(twice.liveIds).toEqual(['a#1']);
  });

  test('and treats a system id in use as a failure of this child only', () => {
    const room = new SupervisorBench({ path: 'root' });
    const inner = { key: 'servers', logic: supervisorMachine, policy, shutdownMs: 100 };
    const input = {
      path: 'root',
      now: () => 0,
      random: () => 0,
      children: [room.spec('servers'), room.spec('ok')],
    };
    room.actor.send({ type: 'child.start', spec: { ...inner, input } });
    const children = room.child('servers')?.ref?.getSnapshot().context.children;
    expect(children.get('servers')).toMatchObject({ phase: 'waiting', ref: undefined });
    expect(String(children.get('servers').lastError)).toContain('root/servers is in use');
    expect(children.get('ok')).toMatchObject({ phase: 'up' });
  });

  test('that fail during their start after a pause, not in a loop', () => {
    const room = new SupervisorBench();
    const logic = createMachine({
      context: () => {
        throw new Error('born dead');
      },
    });
    room.start('a', { logic });
    expect(room.lines).toEqual(['a started', 'a restarting']);
    room.clock.increment(10);
    room.clock.increment(20);
    room.clock.increment(40);
    expect(room.phases).toEqual(['a parked']);
    expect(room.liveIds).toEqual([]);
  });

  test('of its input even if the first one fails during its start', () => {
    const probe = new SupervisorBench();
    const bornDead = createMachine({
      context: () => {
        throw new Error('born dead');
      },
    });
    const room = new SupervisorBench({ children: [probe.spec('a', { logic: bornDead }), probe.spec('b')] });
    expect(room.phases).toEqual(['a waiting', 'b up']);
    expect(room.liveIds).toEqual(['b#2']);
  });

  test('that finish during their start, and forgets them', () => {
    const room = new SupervisorBench();
    room.start('a', { logic: createMachine({ initial: 'end', states: { end: { type: 'final' } } }) });
    expect(room.phases).toEqual([]);
    expect(room.lines).toEqual(['a started', 'a ended']);
  });
});

describe('a child that reports a failure', () => {
  test('stays the same actor and receives `due` after a doubling pause', () => {
    const room = new SupervisorBench();
    room.start('a');
    const ref = room.child('a')?.ref;
    for (const pauseMs of [10, 20, 40]) {
      room.tell('a', fail);
      expect(room.child('a')).toMatchObject({ phase: 'waiting', lastError: fail.error });
      expect(room.child('a')?.retryAt).toBe(room.clock.now() + pauseMs);
      const before = room.events.length;
      room.clock.increment(pauseMs - 1);
      expect(room.events.length).toBe(before);
      room.clock.increment(1);
      expect(room.events.at(-1)).toBe('a#1 due');
      expect(room.phases).toEqual(['a up']);
    }
    expect(room.child('a')?.ref).toBe(ref);
  });

  test('is parked instead of restarted above the restart limit, and is notified', () => {
    const room = new SupervisorBench();
    room.start('a');
    for (let i = 0; i < 4; i++) {
      room.tell('a', fail);
      room.clock.increment(40);
    }
    expect(room.events.at(-1)).toBe('a#1 park');
    expect(room.child('a')).toMatchObject({ phase: 'parked', parkedUntil: 620, retryAt: undefined });
    room.clock.increment(100_000);
    expect(room.phases).toEqual(['a parked']);
    expect(room.events.filter((line) => line === 'a#1 due')).toHaveLength(3);
  });

  test('while parked is restarted, because it must have started without the supervisor', () => {
    const room = new SupervisorBench();
    room.start('a', { policy: { ...policy, intensity: 1 } });
    room.tell('a', fail);
    room.tell('a', fail);
    expect(room.child('a')).toMatchObject({ phase: 'parked', retryAt: undefined, parkedUntil: 500 });
    room.clock.increment(1000);
    room.tell('a', fail);
    expect(room.child('a')).toMatchObject({ phase: 'waiting', retryAt: 1010, parkedUntil: undefined });
  });

  test('is never parked if it fails rarely, because the period of the limit moves on', () => {
    const room = new SupervisorBench();
    room.start('a');
    for (let i = 0; i < 20; i++) {
      room.tell('a', fail);
      room.clock.increment(500);
    }
    expect(room.phases).toEqual(['a up']);
    expect(room.child('a')?.restarts.length).toBeLessThanOrEqual(3);
  });

  test('twice before its restart is counted twice and restarted once', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', fail);
    room.tell('a', fail);
    expect(room.child('a')?.restarts).toHaveLength(2);
    room.clock.increment(1000);
    expect(room.events).toEqual(['a#1 due']);
  });

  test('is stopped and forgotten if it is temporary', () => {
    const room = new SupervisorBench();
    room.start('a', { policy: { ...policy, restart: 'temporary' } });
    const ref = room.child('a')?.ref;
    room.tell('a', fail);
    expect(room.phases).toEqual([]);
    expect(ref?.getSnapshot().status).toBe('stopped');
    expect(room.changes.at(-1)).toMatchObject({ what: 'ended', error: fail.error });
  });
});

describe('a child that throws', () => {
  test('is restarted as the next generation after the pause, under the same name', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.start('b');
    room.tell('a', boom);
    expect(room.child('a')).toMatchObject({ phase: 'waiting', ref: undefined, lastError: boom.error });
    expect(room.liveIds).toEqual(['b#2']);
    room.clock.increment(10);
    expect(room.liveIds.sort()).toEqual(['a#3', 'b#2']);
    expect(room.actor.system.get('servers/a')).toBe(room.child('a')?.ref);
    expect(room.phases).toEqual(['a up', 'b up']);
  });

  test('shares its counters with reported failures', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', fail);
    room.clock.increment(10);
    room.tell('a', boom);
    room.clock.increment(20);
    room.tell('a', fail);
    room.clock.increment(40);
    room.tell('a', boom);
    expect(room.child('a')).toMatchObject({ phase: 'parked', ref: undefined, parkedUntil: 570 });
    expect(room.liveIds).toEqual([]);
  });

  test('fails the supervisor with the cause if its policy escalates, and ends every other child (A5)', () => {
    const room = new SupervisorBench();
    room.start('a', { policy: { ...escalate, intensity: 1 } });
    room.start('b');
    const other = room.child('b')?.ref;
    room.tell('a', boom);
    room.clock.increment(10);
    room.tell('a', boom);
    expect(room.failure).toBeInstanceOf(RestartLimitError);
    expect(String(room.failure)).toContain('servers/a was restarted 1 times within 1000 ms');
    expect(room.failure).toMatchObject({ code: 'ERR_RESTART_LIMIT', cause: boom.error });
    expect(other?.getSnapshot().status).toBe('stopped');
    expect(room.timers).toBe(0);
  });

  test('is a failure of its supervisor for the grandparent, which restarts the supervisor', () => {
    const room = new SupervisorBench({ path: 'root' });
    const input = {
      path: 'servers',
      now: () => room.clock.now(),
      random: () => 0,
      children: [room.spec('a', { policy: { ...escalate, intensity: 0 } }), room.spec('b')],
    };
    room.actor.send({
      type: 'child.start',
      spec: { key: 'servers', logic: supervisorMachine, input, policy, shutdownMs: 100 },
    });
    room.actor.system.get('servers/a').send(boom);
    expect(room.child('servers')?.lastError).toBeInstanceOf(RestartLimitError);
    expect(room.actor.system.get('servers/b')).toBeUndefined();
    room.clock.increment(10);
    expect(room.actor.system.get('servers/a').getSnapshot().status).toBe('active');
    expect(room.actor.system.get('servers/b').getSnapshot().status).toBe('active');
  });
});

describe('a child that finishes', () => {
  test('is forgotten completely if it is transient', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', { type: 'finish' });
    expect(room.phases).toEqual([]);
    expect(room.liveIds).toEqual([]);
    expect(room.lines).toEqual(['a started', 'a ended']);
  });

  test('is forgotten if it finishes while it waits for its restart', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', fail);
    room.tell('a', { type: 'finish' });
    expect(room.phases).toEqual([]);
    expect(room.timers).toBe(0);
  });

  test('is restarted if it is permanent', () => {
    const room = new SupervisorBench();
    room.start('a', { policy: { ...policy, restart: 'permanent' } });
    room.tell('a', { type: 'finish' });
    expect(room.liveIds).toEqual([]);
    room.clock.increment(10);
    expect(room.liveIds).toEqual(['a#2']);
  });

  test('may start again under its key, in a new generation', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', { type: 'finish' });
    room.start('a');
    expect(room.liveIds).toEqual(['a#2']);
  });
});

describe('waking a child', () => {
  test('resets and unparks a parked child, and sends it the event `start`', () => {
    const room = new SupervisorBench();
    room.start('a', { policy: { ...policy, intensity: 0 } });
    room.tell('a', fail);
    room.actor.send({ type: 'child.wake', key: 'a' });
    expect(room.child('a')).toMatchObject({ phase: 'up', restarts: [], parkedUntil: undefined });
    expect(room.events).toEqual(['a#1 park', 'a#1 start']);
    expect(room.lines).toEqual(['a started', 'a parked', 'a woken']);
  });

  test('keeps the restart count of a child whose server is unreachable, so that the next failure parks it again', () => {
    const room = new SupervisorBench();
    const away = { type: 'fail', error: { isUnreachable: true } } as const;
    room.start('a', { policy: { ...policy, intensity: 1 } });
    room.tell('a', away);
    room.clock.increment(10);
    room.tell('a', away);
    room.actor.send({ type: 'child.wake', key: 'a' });
    expect(room.phases).toEqual(['a up']);
    room.tell('a', away);
    expect(room.phases).toEqual(['a parked']);
  });

  test('cancels the restart of a waiting child', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', fail);
    room.actor.send({ type: 'child.wake', key: 'a' });
    room.clock.increment(1000);
    expect(room.events).toEqual(['a#1 start']);
    expect(room.timers).toBe(0);
  });

  test.each([
    ['waiting', policy],
    ['parked', { ...policy, intensity: 0 }],
  ])('spawns a stopped %s child immediately, and sends it the event `start`', (phase, initialPhase) => {
    const room = new SupervisorBench();
    room.start('a', { policy: initialPhase });
    room.tell('a', boom);
    expect(room.phases).toEqual([`a ${phase}`]);
    room.actor.send({ type: 'child.wake', key: 'a' });
    expect(room.liveIds).toEqual(['a#2']);
    expect(room.events).toEqual(['a#2 start']);
    room.clock.increment(1000);
    expect(room.liveIds).toEqual(['a#2']);
  });

  test('ignores an unknown or stopping child', () => {
    const room = new SupervisorBench();
    room.start('a', { input: { isStubborn: true } });
    room.actor.send({ type: 'child.stop', key: 'a' });
    room.actor.send({ type: 'child.wake', key: 'a' });
    room.actor.send({ type: 'child.wake', key: 'nobody' });
    expect(room.phases).toEqual(['a stopping']);
    expect(room.events).toEqual(['a#1 shutdown']);
  });
});

describe('stopping a child', () => {
  test('notifies the child, and forgets it when it has ended', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.actor.send({ type: 'child.stop', key: 'a' });
    expect(room.events).toEqual(['a#1 shutdown']);
    expect(room.phases).toEqual([]);
    expect(room.changes.at(-1)).toEqual({ key: 'a', generation: 1, what: 'stopped', restarts: 0 });
    expect(room.timers).toBe(0);
  });

  test('ends a child that exceeds its time, and runs its cleanup', () => {
    const room = new SupervisorBench();
    const cleanup = vi.fn();
    room.start('a', { logic: fromCallback(() => cleanup) });
    room.actor.send({ type: 'child.stop', key: 'a' });
    room.clock.increment(99);
    expect(room.phases).toEqual(['a stopping']);
    expect(cleanup).not.toHaveBeenCalled();
    room.clock.increment(1);
    expect(room.phases).toEqual([]);
    expect(cleanup).toHaveBeenCalledOnce();
    expect(room.changes.at(-1)).toMatchObject({ what: 'stopped', wasCutOff: true });
  });

  test('notifies the child once, even if repeated', () => {
    const room = new SupervisorBench();
    room.start('a', { input: { isStubborn: true } });
    room.actor.send({ type: 'child.stop', key: 'a' });
    room.clock.increment(60);
    room.actor.send({ type: 'child.stop', key: 'a' });
    expect(room.events).toEqual(['a#1 shutdown']);
    room.clock.increment(40);
    expect(room.phases).toEqual([]);
  });

  test.each([fail, boom])('cancels the restart of a waiting child ($type)', (trouble) => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', trouble);
    room.actor.send({ type: 'child.stop', key: 'a' });
    room.clock.increment(1000);
    expect(room.phases).toEqual([]);
    expect(room.lines.at(-1)).toBe('a stopped');
    expect(room.timers).toBe(0);
  });

  test('ends a child that throws while it stops, without a restart', () => {
    const room = new SupervisorBench();
    room.start('a', { input: { isStubborn: true } });
    room.actor.send({ type: 'child.stop', key: 'a' });
    room.tell('a', fail);
    expect(room.phases).toEqual(['a stopping']);
    room.tell('a', boom);
    expect(room.phases).toEqual([]);
    expect(room.changes.at(-1)).toMatchObject({ what: 'stopped', error: boom.error });
  });
});

describe('a late event', () => {
  test('of an earlier generation or a removed key is ignored', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', boom);
    room.clock.increment(10);
    const before = room.actor.getSnapshot().context;
    const error = new Error('late');
    for (const id of ['a#1', 'a#99', 'gone#1']) {
      const [key = '', generation] = id.split('#');
      room.actor.send({ type: `xstate.error.actor.${id}`, actorId: id, error });
      room.actor.send({ type: `xstate.done.actor.${id}`, actorId: id, output: undefined });
      room.actor.send({ type: 'child.failed', key, generation: Number(generation), error });
      room.actor.send({ type: 'child.due', key, generation: Number(generation) });
      room.actor.send({ type: 'child.overdue', key, generation: Number(generation) });
    }
    expect(room.actor.getSnapshot().status).toBe('active');
    expect(room.actor.getSnapshot().context).toBe(before);
  });

  test('of a removed child is not attributed to its successor', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.tell('a', boom);
    room.actor.send({ type: 'child.failed', key: 'a', generation: 1, error: 'late' });
    expect(room.child('a')?.restarts).toHaveLength(1);
  });

  test('does not fail a supervisor that sends to a child which has just ended', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const statuses: string[] = [];
    const room: SupervisorBench = new SupervisorBench({
      onChange: ({ key, what }) => {
        if (key === 'b' && what === 'started') {
          // Both events are queued while the supervisor is busy. When the first is processed, `a` has
          // stopped.
          room.tell('a', fail);
          room.tell('a', { type: 'finish' });
        }
        if (what === 'parked') statuses.push(room.child('a')?.ref?.getSnapshot().status);
      },
    });
    room.start('a', { policy: { ...policy, intensity: 0 } });
    room.start('b');
    expect(statuses).toEqual(['done']);
    expect(room.actor.getSnapshot().status).toBe('active');
    expect(room.phases).toEqual(['b up']);
    warn.mockRestore();
  });
});

describe('draining a supervisor', () => {
  test('stops children one at a time in reverse order, and ends those that hang', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.start('b', { input: { isStubborn: true } });
    room.start('c');
    room.actor.send({ type: 'shutdown' });
    expect(room.events).toEqual(['c#3 shutdown', 'b#2 shutdown']);
    expect(room.phases).toEqual(['a up', 'b stopping']);
    room.clock.increment(100);
    expect(room.events.at(-1)).toBe('a#1 shutdown');
    expect(room.lines.slice(3)).toEqual(['c stopped', 'b stopped', 'a stopped']);
    expect(room.actor.getSnapshot()).toMatchObject({ status: 'done', value: 'stopped' });
    expect(room.timers).toBe(0);
  });

  test('in the mode `together` notifies all children at the same time, and finishes when all have ended', () => {
    const room = new SupervisorBench({ drain: 'together' });
    room.start('a', { input: { isStubborn: true } });
    room.start('b', { input: { isStubborn: true } });
    room.start('c');
    room.actor.send({ type: 'shutdown' });
    expect(room.events).toEqual(['c#3 shutdown', 'b#2 shutdown', 'a#1 shutdown']);
    expect(room.phases).toEqual(['a stopping', 'b stopping']);
    room.clock.increment(100);
    expect(room.actor.getSnapshot().status).toBe('done');
  });

  test('ends immediately without children', () => {
    const room = new SupervisorBench();
    room.actor.send({ type: 'shutdown' });
    expect(room.actor.getSnapshot().status).toBe('done');
  });

  test.each(['ordered', 'together'] as const)(
    'does not get stuck if the last child waits for its restart (%s)',
    (drain) => {
      // Regression from a property test, shrunk to: start a, start b, boom b.
      const room = new SupervisorBench({ drain });
      room.start('a');
      room.start('b');
      room.tell('b', boom);
      room.actor.send({ type: 'shutdown' });
      expect(room.actor.getSnapshot().status).toBe('done');
      expect(room.lines.slice(-2)).toEqual(['b stopped', 'a stopped']);
    },
  );

  test('does not get stuck if children are parked, waiting or stopping', () => {
    const room = new SupervisorBench();
    room.start('gone', { policy: { ...policy, intensity: 0 } });
    room.start('parked', { policy: { ...policy, intensity: 0 } });
    room.start('waiting');
    room.start('stopping', { input: { isStubborn: true } });
    room.tell('gone', boom);
    room.tell('parked', fail);
    room.tell('waiting', fail);
    room.actor.send({ type: 'child.stop', key: 'stopping' });
    room.clock.increment(1);
    room.actor.send({ type: 'shutdown' });
    room.clock.increment(99);
    expect(room.actor.getSnapshot().status).toBe('done');
  });

  test('restarts no child: a failed child keeps its state until its turn to stop', () => {
    const room = new SupervisorBench();
    room.start('a');
    room.start('b');
    room.start('c', { input: { isStubborn: true } });
    room.actor.send({ type: 'shutdown' });
    room.tell('a', fail);
    room.tell('b', boom);
    room.start('d');
    room.actor.send({ type: 'child.wake', key: 'a' });
    expect(room.phases).toEqual(['a up', 'c stopping']);
    room.clock.increment(100);
    expect(room.events.at(-1)).toBe('a#1 shutdown');
    expect(room.actor.getSnapshot().status).toBe('done');
  });

  test('reaches nested children', () => {
    const room = new SupervisorBench({ path: 'root' });
    const input = {
      path: 'servers',
      now: () => 0,
      random: () => 0,
      children: [room.spec('a'), room.spec('b')],
    };
    const logic = supervisorMachine;
    room.actor.send({ type: 'child.start', spec: { key: 'servers', logic, input, policy, shutdownMs: 100 } });
    room.actor.send({ type: 'shutdown' });
    expect(room.events).toEqual(['b#2 shutdown', 'a#1 shutdown']);
    expect(room.actor.getSnapshot().status).toBe('done');
  });
});

test('stopping the supervisor itself leaves no child and no timer (A5)', () => {
  const room = new SupervisorBench();
  room.start('a');
  room.start('b');
  room.tell('b', boom);
  const ref = room.child('a')?.ref;
  room.actor.stop();
  expect(ref?.getSnapshot().status).toBe('stopped');
  expect(room.timers).toBe(0);
});

test('a child of a supervisor may be a promise', async () => {
  const room = new SupervisorBench();
  room.start('a', { logic: fromPromise(() => Promise.reject(new Error('no'))) });
  room.start('b', { logic: fromPromise(() => Promise.resolve()) });
  await vi.waitFor(() => expect(room.phases).toEqual(['a waiting']), { timeout: 10_000 });
});

test('the change reports of a supervisor contain reason, count and duration', () => {
  const room = new SupervisorBench();
  room.start('a', { policy: { ...policy, intensity: 1 } });
  room.tell('a', fail);
  room.clock.increment(10);
  room.tell('a', boom);
  expect(room.changes).toEqual([
    { key: 'a', generation: 1, what: 'started', restarts: 0 },
    { key: 'a', generation: 1, what: 'restarting', restarts: 1, inMs: 10, error: fail.error },
    { key: 'a', generation: 1, what: 'restarted', restarts: 1 },
    { key: 'a', generation: 1, what: 'parked', restarts: 1, until: 510, error: boom.error },
  ]);
});

test('500 children of a supervisor start and stop in one turn of the event loop', () => {
  const actor = createActor(supervisorMachine, {
    clock: new SimulatedClock(),
    input: { path: 'servers', now: () => 0, random: () => 0, drain: 'ordered' },
  }).start();
  for (let i = 0; i < 500; i++) {
    const spec: ChildSpec = { key: `s${i}`, logic: childMachine, policy, shutdownMs: 100 };
    actor.send({ type: 'child.start', spec });
  }
  expect(actor.getSnapshot().context.children.size).toBe(500);
  for (let i = 0; i < 250; i++) actor.send({ type: 'child.stop', key: `s${i}` });
  actor.send({ type: 'shutdown' });
  expect(actor.getSnapshot().status).toBe('done');
});
