// The turns that a result of the ledger grants to its caller, and how they are given back when the caller has gone
// meanwhile.

import type { Arguments, Operation, Result } from '../ledger.ts';
import type { TurnResult } from '../store.ts';

export type GrantedTurn = Pick<TurnResult, 'key' | 'fence' | 'seq'>;

const NOT_BEGUN = 'the store answered too late; it was not begun';

/** The turns that come with the result of a call. */
export function turnsGrantedBy<O extends Operation>(
  operation: O,
  args: Arguments<O>,
  result: Result<O>,
): readonly GrantedTurn[] {
  switch (operation) {
    case 'append': {
      const [events] = args as Arguments<'append'>;
      return (result as Result<'append'>).flatMap(({ claimed }, index) => {
        const { key = '' } = events[index] ?? {};
        return claimed === undefined ? [] : [{ key, fence: claimed.fence, seq: claimed.seq }];
      });
    }
    case 'claim':
      return (result as Result<'claim'>).map(({ key, fence, event }) => ({ key, fence, seq: event.seq }));
    case 'commit': {
      const [results] = args as Arguments<'commit'>;
      return (result as Result<'commit'>).flatMap(({ next }, index) => {
        const { key = '', fence = 0 } = results[index] ?? {};
        return next === undefined ? [] : [{ key, fence, seq: next.seq }];
      });
    }
    default:
      return [];
  }
}

/** The result that gives a turn back: its event waits again, and the attempt does not count. */
export function givenBack({ key, fence, seq }: GrantedTurn): TurnResult {
  return { key, fence, seq, outcome: 'queued', note: NOT_BEGUN, isLast: true };
}
