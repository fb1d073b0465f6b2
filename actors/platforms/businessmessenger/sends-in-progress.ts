// Tracks which business numbers are sending, for failures that the platform reports before the receipt of the
// message is stored (late-failures.ts).

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';

/** Maximum time from the platform's response to the stored receipt, on a slow disk. */
const RECEIPT_MS = 2_000;
const MAX_NUMBERS = 1_000;

interface Sending {
  count: number;
  /** Last response time, by performance.now. */
  endedAt: number;
}

export class SendsInProgress {
  readonly #numbers = new Map<string, Sending>();

  async track<T>(number: string, request: () => Promise<T>): Promise<T> {
    const sending = this.#numbers.get(number) ?? { count: 0, endedAt: 0 };
    this.#numbers.delete(number);
    this.#numbers.set(number, sending);
    deleteOldest(this.#numbers, MAX_NUMBERS);
    sending.count += 1;
    try {
      return await request();
    } finally {
      sending.count -= 1;
      sending.endedAt = performance.now();
    }
  }

  /** Returns true while a send is in progress or its receipt may not be stored yet. */
  isSending(number: string): boolean {
    const sending = this.#numbers.get(number);
    if (sending === undefined) return false;
    return sending.count > 0 || performance.now() - sending.endedAt < RECEIPT_MS;
  }
}
