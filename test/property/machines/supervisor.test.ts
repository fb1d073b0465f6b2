// The supervisor (machines/supervisor.ts) with random commands: children start, fail, stop and restart, and
// the supervisor drains (stops all children). After each command it is compared with a simple model in
// simulated time. Invariants A5, A6 and A7 are in ARCHITECTURE.md.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AnyActorRef } from 'xstate';
import type { ChildChange } from '../../../machines/child.ts';
import { isExternal } from '../../../machines/external-failure.ts';
import { RestartLimitError, type RestartPolicy } from '../../../machines/policy.ts';
import { policy, SupervisorBench } from '../../fixtures/server/supervised-child.ts';

/** Simulated time per `tick`. */
const STEP_MS = 10;
/** Time after which a stopping child is stopped by force. */
const SHUTDOWN_MS = 30;
const keys = ['a', 'b', 'c'] as const;

const policies: Record<'transient' | 'permanent' | 'temporary' | 'escalating', RestartPolicy> = {
  transient: { ...policy, intensity: 2, periodMs: 200, parkMs: 100 },
  permanent: { ...policy, restart: 'permanent', intensity: 3, periodMs: 150, parkMs: 50 },
  temporary: { ...policy, restart: 'temporary' },
  escalating: { ...policy, onLimit: 'escalate', intensity: 2, periodMs: 200 },
};

/**
 * Events of a child: `fail` reports a failure (`leave`: with an external cause), `boom` ends with an error,
 * and `finish` ends normally. Requests to the supervisor: `start`, `stop`, `wake` (of a child that is parked:
 * stopped after too many failures), `shutdown`. `stale` sends late events of earlier generations (actors of
 * the same key), and `tick` advances the time.
 */
type Command =
  | { do: 'start'; key: string; kind: keyof typeof policies; isStubborn: boolean }
  | { do: 'stop' | 'fail' | 'leave' | 'boom' | 'finish' | 'wake' | 'stale'; key: string }
  | { do: 'tick'; steps: number }
  | { do: 'shutdown' };

/** Generates commands for children with these restart policies. */
function arbCommands(
  kinds: readonly (keyof typeof policies)[],
  withShutdown: boolean,
): fc.Arbitrary<Command[]> {
  const key = fc.constantFrom(...keys);
  const start = fc.record({
    do: fc.constant('start' as const),
    key,
    kind: fc.constantFrom(...kinds),
    isStubborn: fc.boolean(),
  });
  const arbCommandKinds: fc.WeightedArbitrary<Command>[] = [
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
  if (withShutdown) arbCommandKinds.push({ weight: 1, arbitrary: fc.constant({ do: 'shutdown' }) });
  // With initial children most command lists have an effect.
  const lists = fc.tuple(
    fc.array(start, { maxLength: 4 }),
    fc.array(fc.oneof(...arbCommandKinds), { maxLength: 40 }),
  );
  return lists.map((parts) => parts.flat());
}

interface ModelChild {
  /** `waiting` for a restart, `parked` until `wake`, or `stopping`. */
  phase: 'up' | 'waiting' | 'parked' | 'stopping';
  isAlive: boolean;
  /** A stubborn child does not stop when requested. */
  isStubborn: boolean;
  kind: keyof typeof policies;
  /** Times of the restarts within the period. */
  restarts: number[];
  /** Times of the restarts after external failures. They do not count for the limit. */
  uncounted: number[];
  /** Restart time, or Infinity. */
  dueAt: number;
  /** Time at which a stopping child is stopped by force, or Infinity. */
  overdueAt: number;
}

/** The model of the supervisor. */
class Model {
  now = 0;
  isDraining = false;
  hasEscalated = false;
  readonly children = new Map<string, ModelChild>();
  /** Children stop sequentially, last started first, or all together. */
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
      const newState = { restarts: [], uncounted: [], dueAt: Infinity, overdueAt: Infinity };
      this.children.set(command.key, { phase: 'up', isAlive: true, isStubborn, kind, ...newState });
      return;
    }
    if (!child) return;
    const isStopping = child.phase === 'stopping' || this.isDraining;
    switch (command.do) {
      case 'stop':
        if (!this.isDraining) this.#requestStop(command.key, child);
        break;
      case 'fail':
      case 'leave':
        if (child.isAlive && !isStopping) this.#fail(command.key, child, true, command.do === 'leave');
        break;
      case 'boom':
      case 'finish':
        if (!child.isAlive) break;
        if (isStopping || (command.do === 'finish' && child.kind !== 'permanent'))
          this.children.delete(command.key);
        else this.#fail(command.key, child, false);
        break;
      case 'wake':
        if (isStopping) break;
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
      // The pause doubles with each restart within the period.
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

  #requestStop(key: string, child: ModelChild): void {
    if (child.phase === 'stopping') return;
    if (!child.isAlive || !child.isStubborn) this.children.delete(key);
    else Object.assign(child, { phase: 'stopping', dueAt: Infinity, overdueAt: this.now + SHUTDOWN_MS });
  }

  #drain(): void {
    for (const [key, child] of [...this.children].reverse()) {
      this.#requestStop(key, child);
      if (this.children.has(key) && this.drain === 'ordered') return;
    }
  }

  #step(): void {
    this.now += STEP_MS;
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

/** The supervisor and its model. Both receive the same commands. */
class ComparedSupervisor {
  readonly model: Model;
  readonly bench: SupervisorBench;
  readonly changes: (ChildChange & { at: number; policy: RestartPolicy })[] = [];
  readonly #policies = new Map<string, RestartPolicy>();
  /** Every child actor that has existed. */
  readonly allRefs = new Set<AnyActorRef>();

  constructor(drain: 'ordered' | 'together') {
    this.model = new Model(drain);
    this.bench = new SupervisorBench({
      drain,
      onChange: (change) => {
        const policy = this.#policies.get(change.key) ?? policies.transient;
        this.changes.push({ ...change, at: this.bench.clock.now(), policy });
      },
    });
  }

  apply(command: Command): void {
    const { bench } = this;
    const isOver = bench.actor.getSnapshot().status !== 'active';
    this.model.apply(command);
    switch (command.do) {
      case 'tick':
        for (let i = 0; i < command.steps; i++) {
          bench.clock.increment(STEP_MS);
          this.#recordActors();
        }
        break;
      case 'shutdown':
        if (!isOver) bench.actor.send({ type: 'shutdown' });
        break;
      case 'start': {
        const input = { isStubborn: command.isStubborn };
        if (!bench.child(command.key)) this.#policies.set(command.key, policies[command.kind]);
        if (!isOver)
          bench.start(command.key, { policy: policies[command.kind], shutdownMs: SHUTDOWN_MS, input });
        break;
      }
      case 'stop':
      case 'wake':
        if (!isOver) bench.actor.send({ type: `child.${command.do}`, key: command.key });
        break;
      case 'stale':
        if (!isOver) this.#sendLateEvents(command.key);
        break;
      case 'leave': {
        const error = new Error('start', { cause: { isExternal: true } });
        bench.tell(command.key, { type: 'fail', error });
        break;
      }
      default:
        bench.tell(command.key, { type: command.do, error: new Error(command.do) });
    }
    this.#recordActors();
  }

  #recordActors(): void {
    for (const { ref } of this.bench.actor.getSnapshot().context.children.values()) {
      if (ref) this.allRefs.add(ref);
    }
  }

  /** Sends all events that earlier generations of this key could send late. The supervisor ignores them. */
  #sendLateEvents(key: string): void {
    const { actor } = this.bench;
    const before = actor.getSnapshot().context;
    const error = new Error('late');
    const current = this.bench.child(key)?.ref?.id;
    for (const { id } of [...this.allRefs].filter((ref) => ref.id.startsWith(key) && ref.id !== current)) {
      actor.send({ type: `xstate.error.actor.${id}`, actorId: id, error });
      actor.send({ type: `xstate.done.actor.${id}`, actorId: id, output: undefined });
      const generation = Number(id.split('#')[1]);
      actor.send({ type: 'child.failed', key, generation, error });
    }
    expect(actor.getSnapshot().context).toBe(before);
  }

  /** Compares the supervisor with the model. */
  check(): void {
    const { bench, model } = this;
    const { context, children, status } = bench.actor.getSnapshot();
    if (model.hasEscalated) expect(status).toBe('error');
    else expect(status).toBe(model.isOver ? 'done' : 'active');
    // The registry equals the model. A failed registry is unchanged, but the actors are stopped.
    const registry = model.hasEscalated ? [] : [...context.children.values()];
    const childStates = registry.map(({ key, phase, ref }) => [key, phase, ref !== undefined]);
    expect(childStates).toEqual(
      [...model.children].map(([key, { phase, isAlive }]) => [key, phase, isAlive]),
    );
    // The registry contains exactly the actors that still run.
    const live = registry.flatMap(({ ref }) => ref ?? []);
    expect(Object.keys(children).sort()).toEqual(live.map(({ id }) => id).sort());
    for (const ref of this.allRefs) {
      expect(ref.getSnapshot().status === 'active', ref.id).toBe(live.includes(ref));
    }
    if (model.hasEscalated) expect(bench.failure).toBeInstanceOf(RestartLimitError);
    else expect(bench.failure).toBeUndefined();
    // Exactly one timer per waiting or stopping child.
    const timed = [...model.children.values()].filter(
      ({ dueAt, overdueAt }) => Math.min(dueAt, overdueAt) < Infinity,
    );
    expect(bench.timers).toBe(model.isOver ? 0 : timed.length);
    this.#checkIntensity();
  }

  /**
   * Checks the reported changes: no period has more restarts than allowed. A start or a wake begins a new
   * count. Restarts after external failures do not count, and an external failure never parks.
   */
  #checkIntensity(): void {
    const restartTimes = new Map<string, number[]>();
    for (const { key, what, at, policy, error } of this.changes) {
      if (isExternal(error)) {
        expect(what).not.toBe('parked');
        continue;
      }
      const times = restartTimes.get(key) ?? [];
      const restartsInPeriod = times.filter((time) => time > at - policy.periodMs).length;
      if (what === 'started' || what === 'woken') restartTimes.delete(key);
      if (what === 'restarting') {
        expect(restartsInPeriod).toBeLessThan(policy.intensity);
        restartTimes.set(key, [...times, at]);
      }
      if (what === 'parked') expect(restartsInPeriod).toBe(policy.intensity);
    }
  }
}

/** Applies the commands, and compares after every command. */
function run(commandList: readonly Command[], drain: 'ordered' | 'together'): ComparedSupervisor {
  const compared = new ComparedSupervisor(drain);
  for (const command of commandList) {
    compared.apply(command);
    compared.check();
  }
  return compared;
}

const arbDrain = fc.constantFrom('ordered' as const, 'together' as const);

describe('a supervisor with any sequence of commands', () => {
  test('matches its model, keeps no stopped child and leaves no orphan (A5, A6)', () => {
    fc.assert(
      fc.property(
        arbCommands(['transient', 'permanent', 'temporary'], true),
        arbDrain,
        (commandList, drain) => {
          run(commandList, drain);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('always drains within the deadlines of its children, and leaves no actor (A5)', () => {
    fc.assert(
      fc.property(
        arbCommands(['transient', 'permanent', 'temporary'], false),
        arbDrain,
        (commandList, drain) => {
          const compared = run(commandList, drain);
          const { bench } = compared;
          compared.apply({ do: 'shutdown' });
          // In an ordered drain, the children may use their own deadlines.
          const deadlines = drain === 'ordered' ? keys.length : 1;
          compared.apply({ do: 'tick', steps: (deadlines * SHUTDOWN_MS) / STEP_MS });
          compared.check();
          expect(bench.actor.getSnapshot().status).toBe('done');
          expect(bench.actor.system.getAll()).toEqual({});
          expect(bench.timers).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('fails exactly when a child exceeds its restart limit, and then stops all children (A5)', () => {
    fc.assert(
      fc.property(arbCommands(['escalating', 'transient'], true), arbDrain, (commandList, drain) => {
        run(commandList, drain);
      }),
      { numRuns: 200 },
    );
  });

  test('is deterministic for the same events (A7)', () => {
    fc.assert(
      fc.property(arbCommands(['transient', 'permanent'], true), arbDrain, (commandList, drain) => {
        const changesOf = ({ changes }: ComparedSupervisor) =>
          changes.map(({ error, ...rest }) => ({ ...rest, error: String(error) }));
        expect(changesOf(run(commandList, drain))).toEqual(changesOf(run(commandList, drain)));
      }),
      { numRuns: 50 },
    );
  });
});

test('a supervisor drains even if its last child waits for a restart (regression)', () => {
  const start = { do: 'start', kind: 'transient', isStubborn: false } as const;
  const commandList: Command[] = [
    { ...start, key: 'a' },
    { ...start, key: 'b' },
    { do: 'boom', key: 'b' },
    { do: 'shutdown' },
  ];
  expect(run(commandList, 'ordered').bench.actor.getSnapshot().status).toBe('done');
  expect(run(commandList, 'together').bench.actor.getSnapshot().status).toBe('done');
});
