// The server machine under random events, against a table of arrows that was written by hand from the contract and
// knows nothing of XState; and with a pool, a supervisor and clients that act in any order.

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

type Word = Exclude<ServerEvent['type'], 'quiet'> | 'half' | 'whole';

/** Where each event leads; what is not here changes nothing. `stopping` is told apart below. */
const arrows: Record<State, Partial<Record<Word, State>>> = {
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
  /** While stopping: what comes after. */
  next: 'stopped' | 'starting' | 'ended';
}

const words: Word[] = [
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

function eventOf(word: Word): ServerEvent {
  switch (word) {
    case 'half':
    case 'whole':
      return { type: 'quiet', span: word };
    case 'pool.lost':
      return { type: word, error: new Error('lost') };
    case 'park':
      return { type: word, until: 1 };
    default:
      return { type: word };
  }
}

class Happens implements fc.Command<Model, ServerBench> {
  readonly word: Word;

  constructor(word: Word) {
    this.word = word;
  }

  check(): boolean {
    return true;
  }

  run(model: Model, bench: ServerBench): void {
    const { word } = this;
    const before = model.state;
    if (before === 'stopping') {
      if (word === 'pool.drained') model.state = model.next;
      else if (word === 'shutdown') model.next = 'ended';
      else if (word === 'start' && model.next !== 'ended') model.next = 'starting';
      else if (word === 'stop' && model.next !== 'ended') model.next = 'stopped';
    } else {
      model.state = arrows[before][word] ?? before;
      if (model.state === 'stopping') model.next = word === 'shutdown' ? 'ended' : 'stopped';
    }
    bench.send(eventOf(word));
    expect(bench.state).toBe(model.state);
    bench.check();
  }

  toString(): string {
    return this.word;
  }
}

const weighted = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...words.filter((word) => word !== 'shutdown')) },
  { weight: 1, arbitrary: fc.constant<Word>('shutdown') },
);

describe('the server machine', () => {
  test('goes where the table of arrows says, with gate and pool as promised (A1, SV1, SV2, SV3)', () => {
    const commands = fc.commands([weighted.map((word) => new Happens(word))], { maxCommands: 60 });
    fc.assert(
      fc.property(commands, (list) => {
        const bench = new ServerBench();
        try {
          fc.modelRun(() => ({ model: { state: 'stopped', next: 'stopped' } as Model, real: bench }), list);
        } finally {
          bench.end();
        }
      }),
      { numRuns: 600 },
    );
  });

  test('is pure: a life told twice is the same life (A7)', () => {
    const machine = serverMachine.provide({ actors: { pool: fromCallback(() => {}) } });
    const tell = (list: readonly Word[]) => {
      const first = new ServerBench();
      let snapshot: SnapshotFrom<typeof serverMachine> = first.snapshot;
      first.end();
      return list.map((word) => {
        const [next, actions] = transition(machine, snapshot, eventOf(word));
        snapshot = next;
        return JSON.stringify([next.value, next.context, next.status, actions.map(({ type }) => type)]);
      });
    };
    fc.assert(
      fc.property(fc.array(weighted, { maxLength: 30 }), (list) => {
        expect(tell(list)).toEqual(tell(list));
      }),
      { numRuns: 100 },
    );
  });

  test('survives any order in which pool, supervisor, operator and clients get to act, and can be ended', async () => {
    const by = (...names: Word[]) => fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        by('pool.ready', 'pool.lost', 'pool.drained'),
        by('due', 'park', 'start'),
        by('stop', 'start'),
        by('demand', 'used', 'half', 'whole'),
        async (scheduler, ...actors) => {
          const bench = new ServerBench();
          const model: Model = { state: 'stopped', next: 'stopped' };
          const lives = actors.map((list) =>
            scheduler.scheduleSequence(list.map((word) => async () => new Happens(word).run(model, bench))),
          );
          await scheduler.waitIdle();
          for (const { task } of lives) expect((await task).faulty).toBe(false);
          // However it stands now: asked to end, and with a pool that drains, it ends.
          new Happens('shutdown').run(model, bench);
          if (model.state === 'stopping') new Happens('pool.drained').run(model, bench);
          expect(bench.state).toBe('ended');
          expect(bench.pools.ended).toBe(bench.pools.begun);
        },
      ),
      { numRuns: 200 },
    );
  });
});
