// Records the outbox rows that earlier attempts certainly did not send, so that the next attempt is not
// treated as a possible duplicate. A refusal or a rate limit proves that this attempt sent nothing, but
// proves nothing about earlier attempts; only a search on the platform does. For rows that are no longer
// recorded, and after a restart, the outcome of earlier attempts is unknown.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { DeliveryError } from './delivery-error.ts';
import type { SendContext, SendReceipt } from './outbound.ts';

const MAX_ROWS = 1_000;

export class UnsentRows {
  readonly #isQueriedFirst: boolean;
  readonly #rows = new Set<string>();

  /** `isQueriedFirst`: the adapter searches for the message on the platform before it resends. */
  constructor({ isQueriedFirst }: { readonly isQueriedFirst: boolean }) {
    this.#isQueriedFirst = isQueriedFirst;
  }

  /** Calls `send`; `isInDoubt` is true if an earlier attempt possibly sent the row. */
  async send(
    { rowId, wasTried }: Pick<SendContext, 'rowId' | 'wasTried'>,
    send: (isInDoubt: boolean) => Promise<SendReceipt>,
  ): Promise<SendReceipt> {
    const isInDoubt = wasTried && !this.#rows.has(rowId);
    this.#rows.delete(rowId);
    try {
      return await send(isInDoubt);
    } catch (error) {
      if (error instanceof DeliveryError && this.#isUnsent(error, isInDoubt)) {
        this.#rows.add(rowId);
        deleteOldest(this.#rows, MAX_ROWS);
      }
      throw error;
    }
  }

  #isUnsent({ isOutcomeUnknown, isUncontacted }: DeliveryError, wasInDoubt: boolean): boolean {
    if (isOutcomeUnknown) return false;
    // An earlier attempt may have sent the row: only the search before the resend can show that it did not.
    return !wasInDoubt || (this.#isQueriedFirst && !isUncontacted);
  }
}
