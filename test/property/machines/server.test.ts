// The state machine of a tool server under random events. A hand-written table of transitions is the model.
// The events of connection pool, supervisor, operator and clients are interleaved at random. The invariants
// A1 and A7 are in ARCHITECTURE.md.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromCallback, type SnapshotFrom, transition } from 'xstate';
import { type ServerEvent, serverMachine } from '../../../machines/server.ts';
import { ServerBench } from '../../fixtures/server/server-bench.ts';

type State =
  | 'stopped'
  | 'starting'
  | 'running'
  | 'idle'
  | 'stopping'
  | 'failed.backingOff'
  | 'failed.ready'
  | 'failed.parked'
  | 'ended';

/** `half` and `whole` are `quiet` events: the server was unused for half, or all, the idle time. */
type EventType = Exclude<ServerEvent['type'], 'quiet'> | 'half' | 'whole';

/** Next state by state and event. Other events change nothing. `stopping` also depends on `Model.next`. */
const nextStates: Record<State, Partial<Record<EventType, State>>> = {
  stopped: { start: 'starting', demand: 'starting', shutdown: 'ended' },
  starting: {
    'pool.ready': 'running',
    'pool.lost': 'failed.backingOff',
    stop: 'stopping',
    shutdown: 'stopping',
  },
  running: {
    half: 'idle',
    whole: 'stopping',
    'pool.lost': 'failed.backingOff',
    stop: 'stopping',
    shutdown: 'stopping',
  },
  idle: {
    used: 'running',
    whole: 'stopping',
    'pool.lost': 'failed.backingOff',
    stop: 'stopping',
    shutdown: 'stopping',
  },
  stopping: { 'pool.drained': 'stopped' },
  'failed.backingOff': {
    due: 'failed.ready',
    park: 'failed.parked',
    start: 'starting',
    stop: 'stopped',
    shutdown: 'ended',
  },
  'failed.ready': { demand: 'starting', start: 'starting', stop: 'stopped', shutdown: 'ended' },
  'failed.parked': { start: 'starting', stop: 'stopped', shutdown: 'ended' },
  ended: {},
};

interface Model {
  state: State;
  /** The state after stopping. */
  next: 'stopped' | 'starting' | 'ended';
}

const eventNames: EventType[] = [
  'start',
  'demand',
  'due',
  'park',
  'stop',
  'shutdown',
  'pool.ready',
  'pool.lost',
  'pool.drained',
  'used',
  'half',
  'whole',
];

function eventOf(eventName: EventType): ServerEvent {
  switch (eventName) {
    case 'half':
    case 'whole':
      return { type: 'quiet', span: eventName };
    case 'pool.lost':
      return { type: eventName, error: new Error('lost') };
    case 'park':
      return { type: eventName, until: 1 };
    default:
      return { type: eventName };
  }
}

/** Sends an event to the machine, and compares its state with the model. */
class SendEvent implements fc.Command<Model, ServerBench> {
  readonly eventName: EventType;

  constructor(eventName: EventType) {
    this.eventName = eventName;
  }

  check(): boolean {
    return true;
  }

  run(model: Model, bench: ServerBench): void {
    const { eventName } = this;
    const before = model.state;
    if (before === 'stopping') {
      if (eventName === 'pool.drained') model.state = model.next;
      else if (eventName === 'shutdown') model.next = 'ended';
      else if (eventName === 'start' && model.next !== 'ended') model.next = 'starting';
      else if (eventName === 'stop' && model.next !== 'ended') model.next = 'stopped';
    } else {
      model.state = nextStates[before][eventName] ?? before;
      if (model.state === 'stopping') model.next = eventName === 'shutdown' ? 'ended' : 'stopped';
    }
    bench.send(eventOf(eventName));
    expect(bench.state).toBe(model.state);
    bench.check();
  }

  toString(): string {
    return this.eventName;
  }
}

/** Any event; `shutdown` is rare, because the machine ends with it. */
const anyEventName = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...eventNames.filter((eventName) => eventName !== 'shutdown')) },
  { weight: 1, arbitrary: fc.constant<EventType>('shutdown') },
);

describe('the server machine', () => {
  test('follows the transition table, and its call gate and connection pool have the expected state (A1)', () => {
    const commands = fc.commands([anyEventName.map((eventName) => new SendEvent(eventName))], {
      maxCommands: 60,
    });
    fc.assert(
      fc.property(commands, (steps) => {
        const bench = new ServerBench();
        try {
          fc.modelRun(() => ({ model: { state: 'stopped', next: 'stopped' } as Model, real: bench }), steps);
        } finally {
          bench.end();
        }
      }),
      { numRuns: 600 },
    );
  });

  test('is deterministic for the same events (A7)', () => {
    const machine = serverMachine.provide({ actors: { pool: fromCallback(() => {}) } });
    const transitionsOf = (events: readonly EventType[]) => {
      const bench = new ServerBench();
      let snapshot: SnapshotFrom<typeof serverMachine> = bench.snapshot;
      bench.end();
      return events.map((eventName) => {
        const [next, actions] = transition(machine, snapshot, eventOf(eventName));
        snapshot = next;
        return JSON.stringify([next.value, next.context, next.status, actions.map(({ type }) => type)]);
      });
    };
    fc.assert(
      fc.property(fc.array(anyEventName, { maxLength: 30 }), (events) => {
        expect(transitionsOf(events)).toEqual(transitionsOf(events));
      }),
      { numRuns: 100 },
    );
  });

  test('follows the table under any interleaving of pool, supervisor, operator and clients, and can be shut down', async () => {
    const eventsOf = (...names: EventType[]) =>
      fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        eventsOf('pool.ready', 'pool.lost', 'pool.drained'),
        eventsOf('due', 'park', 'start'),
        eventsOf('stop', 'start'),
        eventsOf('demand', 'used', 'half', 'whole'),
        async (scheduler, ...actors) => {
          const bench = new ServerBench();
          const model: Model = { state: 'stopped', next: 'stopped' };
          const sequences = actors.map((events) =>
            scheduler.scheduleSequence(
              events.map((eventName) => async () => new SendEvent(eventName).run(model, bench)),
            ),
          );
          await scheduler.waitIdle();
          for (const { task } of sequences) expect((await task).faulty).toBe(false);
          // From every state, the machine stops when it is shut down and all connections have closed.
          new SendEvent('shutdown').run(model, bench);
          if (model.state === 'stopping') new SendEvent('pool.drained').run(model, bench);
          expect(bench.state).toBe('ended');
          expect(bench.pools.ended).toBe(bench.pools.begun);
        },
      ),
      { numRuns: 200 },
    );
  });
});
