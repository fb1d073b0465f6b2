// The machine of an active mailbox against a table of arrows that was written by hand and knows nothing of XState, with
// a run that is counted: it lives exactly while the machine is busy.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createActor, fromCallback, type SnapshotFrom, transition } from 'xstate';
import { type ConversationEvent, conversationMachine } from '../../../machines/conversation.ts';

type State = 'ready' | 'handling' | 'aborting' | 'overrun' | 'leaving' | 'ended';
type Word = ConversationEvent['type'];

/** Where each event leads; what is not here changes nothing. */
const arrows: Record<State, Partial<Record<Word, State>>> = {
  ready: { lasting: 'handling', quiet: 'ended' },
  handling: { 'run.ended': 'ready', deadline: 'aborting', stop: 'aborting', 'claim.lost': 'leaving' },
  aborting: { 'run.ended': 'ready', 'patience.over': 'overrun', 'claim.lost': 'leaving' },
  overrun: { 'run.ended': 'ready', 'claim.lost': 'leaving' },
  leaving: { 'run.ended': 'ready' },
  ended: {},
};
const busy: readonly State[] = ['handling', 'aborting', 'overrun', 'leaving'];

const words: Word[] = ['lasting', 'run.ended', 'deadline', 'stop', 'patience.over', 'claim.lost', 'quiet'];

const eventOf = (word: Word): ConversationEvent =>
  word === 'lasting' ? { type: 'lasting', attempt: 2 } : { type: word };

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
        settle: note('settle'),
      },
    });
    this.actor = createActor(machine, { input: { key: 'conversation/x' } }).start();
  }

  get state(): State {
    const { value } = this.actor.getSnapshot();
    return (typeof value === 'string' ? value : value.busy) as State;
  }
}

describe('the machine of a conversation', () => {
  test('goes where the table of arrows says; a run that lasts lives exactly while it is busy (CV1)', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 60 }), (list) => {
        const bench = new Bench();
        let state: State = 'ready';
        for (const word of list) {
          if (state === 'ended') break;
          const next: State = arrows[state][word] ?? state;
          bench.actor.send(eventOf(word));
          state = next;
          expect(bench.state).toBe(state);
          expect(bench.runs).toBe(busy.includes(state) ? 1 : 0);
        }
        bench.actor.stop();
        expect(bench.runs).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test('settles each run that lasted once, and gives the place of an overrun back (CV2, CV3)', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 60 }), (list) => {
        const bench = new Bench();
        const expected: string[] = [];
        let state: State = 'ready';
        for (const word of list) {
          if (state === 'ended') break;
          const next: State = arrows[state][word] ?? state;
          if (next !== state) {
            if (next === 'aborting' || next === 'leaving') expected.push('abort');
            if (next === 'overrun') expected.push('yieldPlace');
            if (next === 'ready') expected.push('settle');
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

  test('tells the inspector which attempt lasts, and of nothing else', () => {
    expect(conversationMachine.config.meta).toEqual({ inspect: ['attempt'] });
    const bench = new Bench();
    bench.actor.send(eventOf('lasting'));
    expect(bench.actor.getSnapshot().context).toMatchObject({ attempt: 2 });
    bench.actor.stop();
  });
});
