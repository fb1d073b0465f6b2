// From which numbers of the business something is being sent at this moment: the platform may tell of such a message before its
// receipt is in the store.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';

/** From the platform's answer until the receipt is stored, on a slow disk. */
const STORED_MS = 2_000;
const MAX_NUMBERS = 1_000;

interface Sending {
  count: number;
  /** In terms of performance.now. */
  endedAt: number;
}

export class SendingNow {
  readonly #numbers = new Map<string, Sending>();

  async during<T>(number: string, request: () => Promise<T>): Promise<T> {
    const sending = this.#numbers.get(number) ?? { count: 0, endedAt: 0 };
    this.#numbers.delete(number);
    this.#numbers.set(number, sending);
    forgetOldest(this.#numbers, MAX_NUMBERS);
    sending.count += 1;
    try {
      return await request();
    } finally {
      sending.count -= 1;
      sending.endedAt = performance.now();
    }
  }

  isFrom(number: string): boolean {
    const sending = this.#numbers.get(number);
    if (sending === undefined) return false;
    return sending.count > 0 || performance.now() - sending.endedAt < STORED_MS;
  }
}
