// Turns (events with a claim) in the result of a store call. If the result arrives after the caller's
// timeout, worker-channel.ts releases these turns.

import type { TurnResult } from '../store.ts';
import type { OperationArguments, OperationResult, StoreOperation } from '../sync-store.ts';

export type GrantedTurn = Pick<TurnResult, 'key' | 'fence' | 'seq'>;

const NOT_BEGUN = 'the store responded too late; the event was not started';

/** Returns the turns in the result. */
export function turnsGrantedBy<O extends StoreOperation>(
  operation: O,
  args: OperationArguments<O>,
  result: OperationResult<O>,
): readonly GrantedTurn[] {
  switch (operation) {
    case 'append': {
      const [events] = args as OperationArguments<'append'>;
      return (result as OperationResult<'append'>).flatMap(({ claimed }, index) => {
        const { key = '' } = events[index] ?? {};
        return claimed === undefined ? [] : [{ key, fence: claimed.fence, seq: claimed.seq }];
      });
    }
    case 'claim':
      return (result as OperationResult<'claim'>).map(({ key, fence, event }) => ({
        key,
        fence,
        seq: event.seq,
      }));
    case 'commit': {
      const [results] = args as OperationArguments<'commit'>;
      return (result as OperationResult<'commit'>).flatMap(({ next }, index) => {
        const { key = '', fence = 0 } = results[index] ?? {};
        return next === undefined ? [] : [{ key, fence, seq: next.seq }];
      });
    }
    default:
      return [];
  }
}

/** Returns a result that releases the claim. The event is requeued, and the attempt does not count. */
export function releaseOf({ key, fence, seq }: GrantedTurn): TurnResult {
  return { key, fence, seq, outcome: 'queued', note: NOT_BEGUN, isLast: true };
}
