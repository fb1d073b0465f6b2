// A Store over a ledger behind a channel. Calls that would take long inside one transaction are split into short ones.

import { appendedOf } from '../appended.ts';
import type { DeliveryFilter } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import type { Arguments, Operation, Result } from '../ledger.ts';
import { gatherDeliveries, gatherRuns } from '../list-parts.ts';
import type { Store } from '../store.ts';
import { isMoved } from './message-transfer.ts';

/** A channel to a ledger. */
export interface LedgerChannel {
  /** Rejects with a GatewayError. */
  call<O extends Operation>(operation: O, args: Arguments<O>): Promise<Result<O>>;
  /** Adds a listener for possible new work. */
  listen(onWake: () => void): void;
  close(): Promise<void>;
}

/** Store operations that map to one ledger call with the same arguments. */
const plain = [
  ...(['claim', 'commit', 'lease', 'owner', 'tick', 'lastTick', 'forgetTicks'] as const),
  ...(['put', 'get', 'delete', 'keys', 'delivery', 'requeue', 'discard', 'undeliver'] as const),
  ...(['release', 'holders', 'counts', 'withReceipt'] as const),
  ...(['steps', 'run', 'approvals', 'approval', 'decide'] as const),
] satisfies readonly Operation[];

/** Returns the store over the channel's ledger. */
export function ledgerStore(channel: LedgerChannel): Store {
  const wakers = new Set<() => void>();
  channel.listen(() => {
    for (const onWake of [...wakers]) onWake();
  });
  const operations = Object.fromEntries(
    plain.map((operation) => [operation, (...args: never) => channel.call(operation, args)]),
  ) as unknown as Pick<Store, (typeof plain)[number]>;
  const part = (filter: DeliveryFilter) => channel.call('deliveryPage', [filter]);
  return {
    ...operations,
    append: async (events, options = {}) => {
      // A moved body would have to return with the turn; the next claim delivers it.
      const claimMs = events.some(isMoved) ? undefined : options.claimMs;
      const entered = await channel.call('append', [events, claimMs]);
      return entered.map((entry, index) => appendedOf(events[index] as NewEvent, entry));
    },
    // Callers may pass whole turns, including bodies.
    renew: (turns, leaseMs) =>
      channel.call('renew', [turns.map(({ key, fence }) => ({ key, fence })), leaseMs]),
    deliveries: async (filter) => (await gatherDeliveries(filter, part, Number.POSITIVE_INFINITY)).deliveries,
    deliveryPage: (filter) => gatherDeliveries(filter, part),
    runs: (filter) => gatherRuns(filter, (each) => channel.call('runs', [each])),
    wake: (onWake) => {
      // Wrapped, so that the same function can be added twice.
      const waker = () => onWake();
      wakers.add(waker);
      return () => wakers.delete(waker);
    },
    sweep: async () => {
      let removed = 0;
      let afterSeq: number | undefined = 0;
      while (afterSeq !== undefined) {
        const swept: Result<'sweepPart'> = await channel.call('sweepPart', [afterSeq]);
        removed += swept.removed;
        afterSeq = swept.afterSeq;
      }
      return removed;
    },
    close: () => channel.close(),
  };
}
