// The machine of an active mailbox against a table of arrows that was written by hand and knows nothing of XState, with
// a run that is counted: it lives exactly while the machine is busy.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createActor, fromCallback, type SnapshotFrom, transition } from 'xstate';
import { type ConversationEvent, conversationMachine } from '../../../machines/conversation.ts';

type State = 'handling' | 'aborting' | 'stray' | 'leaving' | 'committing' | 'lingering' | 'ended';
type Word = ConversationEvent['type'];

/** Where each event leads; what is not here changes nothing. */
const arrows: Record<State, Partial<Record<Word, State>>> = {
  handling: { 'run.ended': 'committing', deadline: 'aborting', stop: 'aborting', 'claim.lost': 'leaving' },
  aborting: { 'run.ended': 'committing', 'patience.over': 'stray', 'claim.lost': 'leaving' },
  stray: { 'run.ended': 'committing', 'claim.lost': 'leaving' },
  leaving: { 'run.ended': 'lingering' },
  committing: { turn: 'handling', over: 'lingering', 'claim.lost': 'lingering' },
  lingering: { turn: 'handling', quiet: 'ended' },
  ended: {},
};
const busy: readonly State[] = ['handling', 'aborting', 'stray', 'leaving'];

const words: Word[] = [
  'turn',
  'run.ended',
  'deadline',
  'stop',
  'patience.over',
  'claim.lost',
  'over',
  'quiet',
];

const eventOf = (word: Word): ConversationEvent =>
  word === 'turn' ? { type: 'turn', attempt: 2 } : { type: word };

class Bench {
  readonly done: string[] = [];
  runs = 0;
  readonly actor;

  constructor() {
    const note = (what: string) => () => {
      this.done.push(what);
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
        abort: note('abort'),
        yieldPlace: note('yieldPlace'),
        commit: note('commit'),
        rest: note('rest'),
      },
    });
    this.actor = createActor(machine, { input: { key: 'conversation/x', attempt: 1 } }).start();
  }

  get state(): State {
    const { value } = this.actor.getSnapshot();
    return (typeof value === 'string' ? value : value.busy) as State;
  }
}

describe('the machine of a conversation', () => {
  test('goes where the table of arrows says; its run lives exactly while it is busy (C1)', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 60 }), (list) => {
        const bench = new Bench();
        let state: State = 'handling';
        let turns = 1;
        for (const word of list) {
          if (state === 'ended') break;
          const next: State = arrows[state][word] ?? state;
          if (word === 'turn' && next !== state) turns += 1;
          bench.actor.send(eventOf(word));
          state = next;
          expect(bench.state).toBe(state);
          expect(bench.runs).toBe(busy.includes(state) ? 1 : 0);
        }
        expect(bench.actor.getSnapshot().context.turns).toBe(turns);
        bench.actor.stop();
        expect(bench.runs).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test('commits each turn once unless its claim was lost, and rests after it was over (C2, C3)', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 60 }), (list) => {
        const bench = new Bench();
        const expected: string[] = [];
        let state: State = 'handling';
        for (const word of list) {
          if (state === 'ended') break;
          const next: State = arrows[state][word] ?? state;
          if (next !== state) {
            if (next === 'aborting' || next === 'leaving') expected.push('abort');
            if (next === 'stray') expected.push('yieldPlace');
            if (next === 'committing') expected.push('commit');
            if (next === 'lingering') expected.push('rest');
          } else if (state === 'leaving' && word === 'patience.over') expected.push('yieldPlace');
          bench.actor.send(eventOf(word));
          state = next;
        }
        expect(bench.done).toEqual(expected);
        bench.actor.stop();
      }),
      { numRuns: 300 },
    );
  });

  test('is pure: a life told twice is the same life (A7)', () => {
    const machine = conversationMachine.provide({ actors: { run: fromCallback(() => {}) } });
    const tell = (list: readonly Word[]) => {
      const bench = new Bench();
      let snapshot: SnapshotFrom<typeof conversationMachine> = bench.actor.getSnapshot();
      bench.actor.stop();
      return list.map((word) => {
        const [next, actions] = transition(machine, snapshot, eventOf(word));
        snapshot = next;
        return JSON.stringify([next.value, next.context, next.status, actions.map(({ type }) => type)]);
      });
    };
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 30 }), (list) => {
        expect(tell(list)).toEqual(tell(list));
      }),
      { numRuns: 100 },
    );
  });

  test('tells the inspector of its turns and attempts, and of nothing else', () => {
    expect(conversationMachine.config.meta).toEqual({ inspect: ['turns', 'attempt'] });
    const bench = new Bench();
    for (const word of ['run.ended', 'turn'] as const) bench.actor.send(eventOf(word));
    expect(bench.actor.getSnapshot().context).toMatchObject({ turns: 2, attempt: 2 });
    bench.actor.stop();
  });
});
