// Passes envelopes (frames with an event) from a connection's sockets to the store, in arrival order. Limits
// the envelopes in progress.
//
// An envelope is reported as durable only after `accept` resolves. If `accept` rejects, the platform
// redelivers the envelope. Above the limit no envelope is refused: the sockets stop reading, so the excess is
// at most one read.

import type { Log } from '../../../base/errors/log.ts';
import type { SocketEnvelope } from './frame.ts';

export interface IntakeOptions {
  /** Resolves when the event is durable. Must call the store before any await, which preserves the order. */
  accept(envelope: SocketEnvelope): Promise<unknown>;
  /** Called with true when reading has to stop, and with false when it can continue. */
  onFull(isFull: boolean): void;
  readonly log: Log;
  /** App name, for the log. */
  readonly app: string;
}

export const MAX_IN_PROGRESS = 256;
export const MAX_BYTES_IN_PROGRESS = 8_388_608;

export class EnvelopeIntake {
  readonly #options: IntakeOptions;
  #count = 0;
  #bytes = 0;
  #isFull = false;
  #isFailing = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#isFull;
  }

  /** Accepts an envelope. Calls `onSettled` once, with true if the event is durable. */
  add(envelope: SocketEnvelope, bytes: number, onSettled: (isDurable: boolean) => void): void {
    this.#count += 1;
    this.#bytes += bytes;
    this.#update();
    this.#accept(envelope).then((isDurable) => {
      this.#count -= 1;
      this.#bytes -= bytes;
      onSettled(isDurable);
      this.#update();
    });
  }

  async #accept(envelope: SocketEnvelope): Promise<boolean> {
    try {
      await this.#options.accept(envelope);
      this.#isFailing = false;
      return true;
    } catch (error) {
      const { log, app } = this.#options;
      const reason = error instanceof Error ? error.message : String(error);
      if (!this.#isFailing)
        log.warn({ app, reason }, 'could not store socket events; the platform will redeliver them');
      this.#isFailing = true;
      return false;
    }
  }

  #update(): void {
    const isOver = this.#count >= MAX_IN_PROGRESS || this.#bytes >= MAX_BYTES_IN_PROGRESS;
    const isAboveHalf = this.#count > MAX_IN_PROGRESS / 2 || this.#bytes > MAX_BYTES_IN_PROGRESS / 2;
    const isFull = this.#isFull ? isAboveHalf : isOver;
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#options.onFull(isFull);
  }
}
