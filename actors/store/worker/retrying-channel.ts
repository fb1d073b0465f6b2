// Takes the place of the channel to a store whose disk is full at the start. Every call fails with the reason, and the
// file is tried again until there is room; whoever needs no store is served meanwhile.
//
// The way to the store is given out when `prepare` is done with it, and not before.

import type { StoreUnavailableError } from '../../base/errors/errors.ts';
import type { Arguments, Operation, Result } from '../ledger.ts';
import type { LedgerChannel } from './ledger-store.ts';

const AGAIN_MS = 2_000;

export class RetryingChannel implements LedgerChannel {
  readonly #open: () => Promise<LedgerChannel>;
  #channel: LedgerChannel | undefined;
  #error: StoreUnavailableError;
  #timer: NodeJS.Timeout;
  #isClosed = false;
  readonly #listeners: (() => void)[] = [];

  /** `open` gives a channel that is prepared, or rejects with StoreUnavailableError, as it has before with this error. */
  constructor(open: () => Promise<LedgerChannel>, error: StoreUnavailableError) {
    this.#open = open;
    this.#error = error;
    this.#timer = setTimeout(this.#again, AGAIN_MS).unref();
  }

  async call<O extends Operation>(operation: O, args: Arguments<O>): Promise<Result<O>> {
    if (this.#channel === undefined) throw this.#error;
    return this.#channel.call(operation, args);
  }

  listen(onWake: () => void): void {
    this.#listeners.push(onWake);
    this.#channel?.listen(onWake);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#channel?.close();
  }

  readonly #again = (): void => {
    this.#open().then(
      (channel) => {
        if (this.#isClosed) {
          void channel.close();
          return;
        }
        this.#channel = channel;
        for (const onWake of this.#listeners) {
          channel.listen(onWake);
          onWake();
        }
      },
      (error: StoreUnavailableError) => {
        this.#error = error;
        if (!this.#isClosed) this.#timer = setTimeout(this.#again, AGAIN_MS).unref();
      },
    );
  };
}
