// Envelopes on their way into the store: how many may be under way, and what becomes of each.
//
// EI1  an envelope is settled as durable only after `take` has resolved for it; where `take` rejects, it is not, and the platform
//      sends it again.
// EI2  they are handed over in the order in which they came, on whichever socket.
// EI3  beyond the bounds nothing is refused: whoever reads is told to stop, so that only what one read brings comes on top.

import type { Log } from '../../../base/errors/log.ts';
import type { Envelope } from './frame.ts';

export interface IntakeOptions {
  /** Resolves when what it has for us is durable. Hands it to the store before it waits for anything: that keeps the order. */
  take(envelope: Envelope): Promise<unknown>;
  /** Whether to stop reading. */
  onFull(isFull: boolean): void;
  readonly log: Log;
  /** For the log. */
  readonly app: string;
}

export const MAX_UNDER_WAY = 256;
export const MAX_BYTES_UNDER_WAY = 8_388_608;

export class EnvelopeIntake {
  readonly #options: IntakeOptions;
  #count = 0;
  #bytes = 0;
  #isFull = false;
  #isRefusing = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  add(envelope: Envelope, bytes: number, settled: (isDurable: boolean) => void): void {
    this.#count += 1;
    this.#bytes += bytes;
    this.#note();
    this.#take(envelope).then((isDurable) => {
      this.#count -= 1;
      this.#bytes -= bytes;
      settled(isDurable);
      this.#note();
    });
  }

  async #take(envelope: Envelope): Promise<boolean> {
    try {
      await this.#options.take(envelope);
      this.#isRefusing = false;
      return true;
    } catch (error) {
      const { log, app } = this.#options;
      const reason = error instanceof Error ? error.message : String(error);
      if (!this.#isRefusing)
        log.warn({ app, reason }, 'events of a socket could not be kept; the platform sends them again');
      this.#isRefusing = true;
      return false;
    }
  }

  #note(): void {
    const isOver = this.#count >= MAX_UNDER_WAY || this.#bytes >= MAX_BYTES_UNDER_WAY;
    const isEnough = this.#count > MAX_UNDER_WAY / 2 || this.#bytes > MAX_BYTES_UNDER_WAY / 2;
    const isFull = this.#isFull ? isEnough : isOver;
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#options.onFull(isFull);
  }
}
