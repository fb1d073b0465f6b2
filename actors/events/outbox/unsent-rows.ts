// Rows that were tried, and of which it is known all the same that nothing was sent.
//
// UR1  a row is in doubt where an attempt before may have sent it. A refusal, or that it was too soon, sends nothing, and takes
//      away no doubt that was there before it; but for a platform that is asked first, which has said by then that there is nothing.
// UR2  of one that is forgotten, or was tried by a process before this, nobody knows: it is in doubt.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { DeliveryError } from './delivery-error.ts';
import type { Receipt, SendContext } from './outbound.ts';

const MAX_ROWS = 1_000;

export class UnsentRows {
  readonly #isAskedFirst: boolean;
  readonly #rows = new Set<string>();

  /** `isAskedFirst`: whoever is in doubt asks the platform for the message before it is sent again. */
  constructor({ isAskedFirst }: { readonly isAskedFirst: boolean }) {
    this.#isAskedFirst = isAskedFirst;
  }

  async heed(
    { rowId, wasTried }: Pick<SendContext, 'rowId' | 'wasTried'>,
    send: (isInDoubt: boolean) => Promise<Receipt>,
  ): Promise<Receipt> {
    const isInDoubt = wasTried && !this.#rows.has(rowId);
    this.#rows.delete(rowId);
    try {
      return await send(isInDoubt);
    } catch (error) {
      if (error instanceof DeliveryError && this.#isUnsent(error, isInDoubt)) {
        this.#rows.add(rowId);
        forgetOldest(this.#rows, MAX_ROWS);
      }
      throw error;
    }
  }

  #isUnsent({ isOutcomeUnknown, isUnasked }: DeliveryError, wasInDoubt: boolean): boolean {
    if (isOutcomeUnknown) return false;
    return !wasInDoubt || (this.#isAskedFirst && !isUnasked);
  }
}
