// The state machine of a mailbox (the queue of one conversation) with a long or aborted run
// (machines/conversation.ts), compared with a transition table. For random events, a run exists exactly while
// the machine is busy, and is settled (its result committed) once. Invariant A7 is in ARCHITECTURE.md.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createActor, fromCallback, type SnapshotFrom, transition } from 'xstate';
import { type ConversationEvent, conversationMachine } from '../../../machines/conversation.ts';

type State = 'ready' | 'handling' | 'aborting' | 'overrun' | 'leaving' | 'ended';
type EventType = ConversationEvent['type'];

/** Transitions by event. Other events change nothing. */
const transitions: Record<State, Partial<Record<EventType, State>>> = {
  ready: { lasting: 'handling', quiet: 'ended' },
  handling: { 'run.ended': 'ready', deadline: 'aborting', stop: 'aborting', 'claim.lost': 'leaving' },
  aborting: { 'run.ended': 'ready', 'patience.over': 'overrun', 'claim.lost': 'leaving' },
  overrun: { 'run.ended': 'ready', 'claim.lost': 'leaving' },
  leaving: { 'run.ended': 'ready' },
  ended: {},
};
const busyStates: readonly State[] = ['handling', 'aborting', 'overrun', 'leaving'];

const eventNames: EventType[] = [
  'lasting',
  'run.ended',
  'deadline',
  'stop',
  'patience.over',
  'claim.lost',
  'quiet',
];

const eventOf = (eventName: EventType): ConversationEvent =>
  eventName === 'lasting' ? { type: 'lasting', attempt: 2 } : { type: eventName };

/** The machine with counted runs and recorded actions. */
class MachineBench {
  /** Executed actions, in order. */
  readonly executed: string[] = [];
  /** Number of existing runs. */
  runs = 0;
  readonly actor;

  constructor() {
    const record = (action: string) => () => {
      this.executed.push(action);
    };
    const machine = conversationMachine.provide({
      actors: {
        run: fromCallback(() => {
          this.runs += 1;
          return () => {
            this.runs -= 1;
          };
        }),
      },
      actions: {
        abort: record('abort'),
        yieldSlot: record('yieldSlot'),
        settle: record('settle'),
      },
    });
    this.actor = createActor(machine, { input: { key: 'conversation/x' } }).start();
  }

  get state(): State {
    const { value } = this.actor.getSnapshot();
    return (typeof value === 'string' ? value : value.busy) as State;
  }
}

describe('the state machine of a conversation', () => {
  test('follows the transition table, and a long run exists exactly in the state busy', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...eventNames), { maxLength: 60 }), (events) => {
        const bench = new MachineBench();
        let state: State = 'ready';
        for (const eventName of events) {
          if (state === 'ended') break;
          const next: State = transitions[state][eventName] ?? state;
          bench.actor.send(eventOf(eventName));
          state = next;
          expect(bench.state).toBe(state);
          expect(bench.runs).toBe(busyStates.includes(state) ? 1 : 0);
        }
        bench.actor.stop();
        expect(bench.runs).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test('settles each run once at its end, and frees the work slot of an aborted run that does not stop in time', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...eventNames), { maxLength: 60 }), (events) => {
        const bench = new MachineBench();
        const expected: string[] = [];
        let state: State = 'ready';
        for (const eventName of events) {
          if (state === 'ended') break;
          const next: State = transitions[state][eventName] ?? state;
          if (next !== state) {
            if (next === 'aborting' || next === 'leaving') expected.push('abort');
            if (next === 'overrun') expected.push('yieldSlot');
            if (next === 'ready') expected.push('settle');
          } else if (state === 'leaving' && eventName === 'patience.over') expected.push('yieldSlot');
          bench.actor.send(eventOf(eventName));
          state = next;
        }
        expect(bench.executed).toEqual(expected);
        bench.actor.stop();
      }),
      { numRuns: 300 },
    );
  });

  test('is deterministic for the same events (A7)', () => {
    const machine = conversationMachine.provide({ actors: { run: fromCallback(() => {}) } });
    const transitionsOf = (events: readonly EventType[]) => {
      const bench = new MachineBench();
      let snapshot: SnapshotFrom<typeof conversationMachine> = bench.actor.getSnapshot();
      bench.actor.stop();
      return events.map((eventName) => {
        const [next, actions] = transition(machine, snapshot, eventOf(eventName));
        snapshot = next;
        return JSON.stringify([next.value, next.context, next.status, actions.map(({ type }) => type)]);
      });
    };
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...eventNames), { maxLength: 30 }), (events) => {
        expect(transitionsOf(events)).toEqual(transitionsOf(events));
      }),
      { numRuns: 100 },
    );
  });

  test('shows only the number of the current attempt in the inspector', () => {
    expect(conversationMachine.config.meta).toEqual({ inspect: ['attempt'] });
    const bench = new MachineBench();
    bench.actor.send(eventOf('lasting'));
    expect(bench.actor.getSnapshot().context).toMatchObject({ attempt: 2 });
    bench.actor.stop();
  });
});
