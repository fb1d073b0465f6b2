// Implements Store over a channel to the embedded engine (sync-store.ts), which normally runs in the worker
// thread. Splits calls that would block the engine for a long time.

import { appendedOf } from '../append-outcome.ts';
import type { DeliveryFilter } from '../delivery.ts';
import type { NewEvent } from '../event.ts';
import { gatherDeliveries, gatherDeliveryPage, gatherRuns } from '../list-parts.ts';
import { SteadyClock } from '../steady-clock.ts';
import type { Store } from '../store.ts';
import type { OperationArguments, OperationResult, StoreOperation } from '../sync-store.ts';
import { isTransferred } from './message-transfer.ts';

/** Channel to the engine. */
export interface StoreChannel {
  /** Rejects with a GatewayError. */
  call<O extends StoreOperation>(operation: O, args: OperationArguments<O>): Promise<OperationResult<O>>;
  /** Adds a listener, called when events can possibly be claimed. */
  listen(onWake: () => void): void;
  close(): Promise<void>;
}

/** Store operations that map to one engine call with the same arguments. */
const plain = [
  ...(['claim', 'commit', 'lease', 'owner', 'tick', 'lastTick', 'forgetTicks'] as const),
  ...(['put', 'get', 'delete', 'keys', 'delivery', 'requeue', 'discard', 'undeliver'] as const),
  ...(['release', 'holders', 'counts', 'usage', 'withReceipt'] as const),
  ...(['steps', 'run', 'approvals', 'approval', 'decide'] as const),
  ...(['accessKeys', 'addAccessKey', 'revokeAccessKey', 'noteKeyUses'] as const),
] satisfies readonly StoreOperation[];

/** Returns a store that sends its calls over the channel. `clock` is the engine's steady clock. */
export function channelStore(channel: StoreChannel, clock = new SteadyClock()): Store {
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
    now: () => Date.now(),
    steady: () => clock.now,
    append: async (events, options = {}) => {
      // No claim for transferred bodies, which this thread no longer has; the next `claim` returns them.
      const claimMs = events.some(isTransferred) ? undefined : options.claimMs;
      const entered = await channel.call('append', [events, claimMs]);
      return entered.map((entry, index) => appendedOf(events[index] as NewEvent, entry));
    },
    // Callers may pass whole turns, including bodies.
    renew: (turns, leaseMs) =>
      channel.call('renew', [turns.map(({ key, fence }) => ({ key, fence })), leaseMs]),
    deliveries: (filter) => gatherDeliveries(filter, part),
    deliveryPage: (filter) => gatherDeliveryPage(filter, part),
    runs: (filter) => gatherRuns(filter, (each) => channel.call('runs', [each])),
    wake: (onWake) => {
      // Wrapped, because the same function may be added twice.
      const waker = () => onWake();
      wakers.add(waker);
      return () => wakers.delete(waker);
    },
    sweep: async () => {
      let removed = 0;
      let afterSeq: number | undefined = 0;
      while (afterSeq !== undefined) {
        const swept: OperationResult<'sweepPart'> = await channel.call('sweepPart', [afterSeq]);
        removed += swept.removed;
        afterSeq = swept.afterSeq;
      }
      return removed;
    },
    close: () => channel.close(),
  };
}
