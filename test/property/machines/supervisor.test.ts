// The supervisor under random commands, compared with a simple model that has a stepped clock, after every
// command.
// The invariants A5, A6 and A7 are in ARCHITECTURE.md.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AnyActorRef } from 'xstate';
import type { ChildChange } from '../../../machines/child.ts';
import { isExternal } from '../../../machines/external-failure.ts';
import { RestartLimitError, type RestartPolicy } from '../../../machines/policy.ts';
import { policy, SupervisorBench } from '../../fixtures/server/supervised-child.ts';

const stepMs = 10;
const shutdownMs = 30;
const keys = ['a', 'b', 'c'] as const;

const policies: Record<'transient' | 'permanent' | 'temporary' | 'escalating', RestartPolicy> = {
  transient: { ...policy, intensity: 2, periodMs: 200, parkMs: 100 },
  permanent: { ...policy, restart: 'permanent', intensity: 3, periodMs: 150, parkMs: 50 },
  temporary: { ...policy, restart: 'temporary' },
  escalating: { ...policy, onLimit: 'escalate', intensity: 2, periodMs: 200 },
};

type Command =
  | { do: 'start'; key: string; kind: keyof typeof policies; isStubborn: boolean }
  | { do: 'stop' | 'fail' | 'leave' | 'boom' | 'finish' | 'wake' | 'stale'; key: string }
  | { do: 'tick'; steps: number }
  | { do: 'shutdown' };

function commands(kinds: readonly (keyof typeof policies)[], withShutdown: boolean): fc.Arbitrary<Command[]> {
  const key = fc.constantFrom(...keys);
  const start = fc.record({
    do: fc.constant('start' as const),
    key,
    kind: fc.constantFrom(...kinds),
    isStubborn: fc.boolean(),
  });
  const some: fc.WeightedArbitrary<Command>[] = [
    { weight: 3, arbitrary: start },
    {
      weight: 9,
      arbitrary: fc.record({
        do: fc.constantFrom('stop', 'fail', 'fail', 'leave', 'boom', 'boom', 'finish', 'wake', 'stale'),
        key,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('tick' as const), steps: fc.integer({ min: 1, max: 9 }) }),
    },
  ];
  if (withShutdown) some.push({ weight: 1, arbitrary: fc.constant({ do: 'shutdown' }) });
  // With initial children most command lists have an effect.
  const lists = fc.tuple(fc.array(start, { maxLength: 4 }), fc.array(fc.oneof(...some), { maxLength: 40 }));
  return lists.map((parts) => parts.flat());
}

interface ModelChild {
  phase: 'up' | 'waiting' | 'parked' | 'stopping';
  isAlive: boolean;
  isStubborn: boolean;
  kind: keyof typeof policies;
  restarts: number[];
  /** Restarts after external failures. */
  uncounted: number[];
  dueAt: number;
  overdueAt: number;
}

class Model {
  now = 0;
  isDraining = false;
  hasEscalated = false;
  readonly children = new Map<string, ModelChild>();
  readonly drain: 'ordered' | 'together';

  constructor(drain: 'ordered' | 'together') {
    this.drain = drain;
  }

  get isOver(): boolean {
    return this.hasEscalated || (this.isDraining && this.children.size === 0);
  }

  apply(command: Command): void {
    if (this.isOver) return;
    if (command.do === 'tick') {
      for (let i = 0; i < command.steps; i++) this.#step();
      return;
    }
    if (command.do === 'shutdown') {
      this.isDraining = true;
      this.#drain();
      return;
    }
    const child = this.children.get(command.key);
    if (command.do === 'start') {
      const { kind, isStubborn } = command;
      if (child || this.isDraining) return;
      const fresh = { restarts: [], uncounted: [], dueAt: Infinity, overdueAt: Infinity };
      this.children.set(command.key, { phase: 'up', isAlive: true, isStubborn, kind, ...fresh });
      return;
    }
    if (!child) return;
    const isGoing = child.phase === 'stopping' || this.isDraining;
    switch (command.do) {
      case 'stop':
        if (!this.isDraining) this.#ask(command.key, child);
        break;
      case 'fail':
      case 'leave':
        if (child.isAlive && !isGoing) this.#fail(command.key, child, true, command.do === 'leave');
        break;
      case 'boom':
      case 'finish':
        if (!child.isAlive) break;
        if (isGoing || (command.do === 'finish' && child.kind !== 'permanent'))
          this.children.delete(command.key);
        else this.#fail(command.key, child, false);
        break;
      case 'wake':
        if (isGoing) break;
        Object.assign(child, { phase: 'up', isAlive: true, restarts: [], uncounted: [], dueAt: Infinity });
        break;
    }
    if (this.isDraining) this.#drain();
  }

  #fail(key: string, child: ModelChild, isAlive: boolean, isExternal = false): void {
    const { restart, intensity, periodMs, onLimit, backoff } = policies[child.kind];
    if (restart === 'temporary') {
      this.children.delete(key);
      return;
    }
    child.isAlive = isAlive;
    const isRecent = (at: number) => at + periodMs > this.now;
    child.restarts = child.restarts.filter(isRecent);
    child.uncounted = child.uncounted.filter(isRecent);
    if (isExternal || child.restarts.length < intensity) {
      let pauseMs = backoff.minMs;
      for (const _ of [...child.restarts, ...child.uncounted]) pauseMs = Math.min(2 * pauseMs, backoff.maxMs);
      Object.assign(child, { phase: 'waiting', dueAt: this.now + pauseMs });
      (isExternal ? child.uncounted : child.restarts).push(this.now);
    } else if (onLimit === 'park') {
      Object.assign(child, { phase: 'parked', dueAt: Infinity });
    } else {
      this.hasEscalated = true;
      this.children.clear();
    }
  }

  #ask(key: string, child: ModelChild): void {
    if (child.phase === 'stopping') return;
    if (!child.isAlive || !child.isStubborn) this.children.delete(key);
    else Object.assign(child, { phase: 'stopping', dueAt: Infinity, overdueAt: this.now + shutdownMs });
  }

  #drain(): void {
    for (const [key, child] of [...this.children].reverse()) {
      this.#ask(key, child);
      if (this.children.has(key) && this.drain === 'ordered') return;
    }
  }

  #step(): void {
    this.now += stepMs;
    for (const [key, child] of [...this.children]) {
      if (child.overdueAt <= this.now) this.children.delete(key);
      else if (child.dueAt <= this.now) {
        child.dueAt = Infinity;
        if (!this.isDraining) Object.assign(child, { phase: 'up', isAlive: true });
      }
    }
    if (this.isDraining) this.#drain();
  }
}

/** The supervisor and the model, with every actor that ever existed. */
class Pair {
  readonly model: Model;
  readonly room: SupervisorBench;
  readonly changes: (ChildChange & { at: number; policy: RestartPolicy })[] = [];
  readonly #policies = new Map<string, RestartPolicy>();
  readonly everyRef = new Set<AnyActorRef>();

  constructor(drain: 'ordered' | 'together') {
    this.model = new Model(drain);
    this.room = new SupervisorBench({
      drain,
      onChange: (change) => {
        const policy = this.#policies.get(change.key) ?? policies.transient;
        this.changes.push({ ...change, at: this.room.clock.now(), policy });
      },
    });
  }

  apply(command: Command): void {
    const { room } = this;
    const isOver = room.actor.getSnapshot().status !== 'active';
    this.model.apply(command);
    switch (command.do) {
      case 'tick':
        for (let i = 0; i < command.steps; i++) {
          room.clock.increment(stepMs);
          this.#remember();
        }
        break;
      case 'shutdown':
        if (!isOver) room.actor.send({ type: 'shutdown' });
        break;
      case 'start': {
        const input = { isStubborn: command.isStubborn };
        if (!room.child(command.key)) this.#policies.set(command.key, policies[command.kind]);
        if (!isOver) room.start(command.key, { policy: policies[command.kind], shutdownMs, input });
        break;
      }
      case 'stop':
      case 'wake':
        if (!isOver) room.actor.send({ type: `child.${command.do}`, key: command.key });
        break;
      case 'stale':
        if (!isOver) this.#sendOldNews(command.key);
        break;
      case 'leave': {
        const error = new Error('start', { cause: { isExternal: true } });
        room.tell(command.key, { type: 'fail', error });
        break;
      }
      default:
        room.tell(command.key, { type: command.do, error: new Error(command.do) });
    }
    this.#remember();
  }

  #remember(): void {
    for (const { ref } of this.room.actor.getSnapshot().context.children.values()) {
      if (ref) this.everyRef.add(ref);
    }
  }

  /** Sends all late events that earlier generations of this key could send. */
  #sendOldNews(key: string): void {
    const { actor } = this.room;
    const before = actor.getSnapshot().context;
    const error = new Error('late');
    const current = this.room.child(key)?.ref?.id;
    for (const { id } of [...this.everyRef].filter((ref) => ref.id.startsWith(key) && ref.id !== current)) {
      actor.send({ type: `xstate.error.actor.${id}`, actorId: id, error });
      actor.send({ type: `xstate.done.actor.${id}`, actorId: id, output: undefined });
      const generation = Number(id.split('#')[1]);
      actor.send({ type: 'child.failed', key, generation, error });
    }
    expect(actor.getSnapshot().context).toBe(before);
  }

  check(): void {
    const { room, model } = this;
    const { context, children, status } = room.actor.getSnapshot();
    expect(status).toBe(model.hasEscalated ? 'error' : model.isOver ? 'done' : 'active');
    // The registry equals the model. A failed registry is unchanged, but the actors are stopped.
    const registry = model.hasEscalated ? [] : [...context.children.values()];
    const childStates = registry.map(({ key, phase, ref }) => [key, phase, ref !== undefined]);
    expect(childStates).toEqual(
      [...model.children].map(([key, { phase, isAlive }]) => [key, phase, isAlive]),
    );
    // No stopped child remains. The registry contains all actors.
    const live = registry.flatMap(({ ref }) => ref ?? []);
    expect(Object.keys(children).sort()).toEqual(live.map(({ id }) => id).sort());
    for (const ref of this.everyRef) {
      expect(ref.getSnapshot().status === 'active', ref.id).toBe(live.includes(ref));
    }
    if (model.hasEscalated) expect(room.failure).toBeInstanceOf(RestartLimitError);
    else expect(room.failure).toBeUndefined();
    // Exactly one timer per waiting or stopping child.
    const timed = [...model.children.values()].filter(
      ({ dueAt, overdueAt }) => Math.min(dueAt, overdueAt) < Infinity,
    );
    expect(room.timers).toBe(model.isOver ? 0 : timed.length);
    this.#checkIntensity();
  }

  /**
   * Computed from the reports: no period has more restarts than allowed, unless an operator reset the record.
   * Restarts after external failures do not count, and an external failure never parks.
   */
  #checkIntensity(): void {
    const restartTimes = new Map<string, number[]>();
    for (const { key, what, at, policy, error } of this.changes) {
      if (isExternal(error)) {
        expect(what).not.toBe('parked');
        continue;
      }
      const times = restartTimes.get(key) ?? [];
      const within = times.filter((time) => time > at - policy.periodMs).length;
      if (what === 'started' || what === 'woken') restartTimes.delete(key);
      if (what === 'restarting') {
        expect(within).toBeLessThan(policy.intensity);
        restartTimes.set(key, [...times, at]);
      }
      if (what === 'parked') expect(within).toBe(policy.intensity);
    }
  }
}

function run(list: readonly Command[], drain: 'ordered' | 'together'): Pair {
  const pair = new Pair(drain);
  for (const command of list) {
    pair.apply(command);
    pair.check();
  }
  return pair;
}

const drains = fc.constantFrom('ordered' as const, 'together' as const);

describe('a supervisor with any commands', () => {
  test('matches its model, keeps no stopped child and leaves no orphan (A5, A6)', () => {
    fc.assert(
      fc.property(commands(['transient', 'permanent', 'temporary'], true), drains, (list, drain) => {
        run(list, drain);
      }),
      { numRuns: 500 },
    );
  });

  test('always drains within the deadlines of its children, and leaves no actor (A5)', () => {
    fc.assert(
      fc.property(commands(['transient', 'permanent', 'temporary'], false), drains, (list, drain) => {
        const pair = run(list, drain);
        const { room } = pair;
        pair.apply({ do: 'shutdown' });
        pair.apply({ do: 'tick', steps: ((drain === 'ordered' ? keys.length : 1) * shutdownMs) / stepMs });
        pair.check();
        expect(room.actor.getSnapshot().status).toBe('done');
        expect(room.actor.system.getAll()).toEqual({});
        expect(room.timers).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  test('fails exactly when a child exceeds its limit, and stops all children (A5)', () => {
    fc.assert(
      fc.property(commands(['escalating', 'transient'], true), drains, (list, drain) => {
        run(list, drain);
      }),
      { numRuns: 200 },
    );
  });

  test('is deterministic for the same events (A7)', () => {
    fc.assert(
      fc.property(commands(['transient', 'permanent'], true), drains, (list, drain) => {
        const plain = ({ changes }: Pair) =>
          changes.map(({ error, ...rest }) => ({ ...rest, error: String(error) }));
        expect(plain(run(list, drain))).toEqual(plain(run(list, drain)));
      }),
      { numRuns: 50 },
    );
  });
});

test('drains if the last child waits for its restart (regression)', () => {
  const start = { do: 'start', kind: 'transient', isStubborn: false } as const;
  const list: Command[] = [
    { ...start, key: 'a' },
    { ...start, key: 'b' },
    { do: 'boom', key: 'b' },
    { do: 'shutdown' },
  ];
  expect(run(list, 'ordered').room.actor.getSnapshot().status).toBe('done');
  expect(run(list, 'together').room.actor.getSnapshot().status).toBe('done');
});
