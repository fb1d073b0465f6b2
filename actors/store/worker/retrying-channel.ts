// Channel to a store with a full disk at the start. All calls fail with the cause until the file can be
// opened; opening is retried periodically. The rest of the gateway works meanwhile.

import type { StoreUnavailableError } from '../../base/errors/errors.ts';
import type { OperationArguments, OperationResult, StoreOperation } from '../sync-store.ts';
import type { StoreChannel } from './channel-store.ts';

const RETRY_MS = 2_000;

export class RetryingChannel implements StoreChannel {
  readonly #open: () => Promise<StoreChannel>;
  #channel: StoreChannel | undefined;
  #error: StoreUnavailableError;
  #timer: NodeJS.Timeout;
  #isClosed = false;
  readonly #listeners: (() => void)[] = [];

  /**
   * `open` returns a prepared channel, or rejects with StoreUnavailableError. `error` is the cause of the
   * first failure.
   */
  constructor(open: () => Promise<StoreChannel>, error: StoreUnavailableError) {
    this.#open = open;
    this.#error = error;
    this.#timer = setTimeout(this.#retry, RETRY_MS).unref();
  }

  async call<O extends StoreOperation>(
    operation: O,
    args: OperationArguments<O>,
  ): Promise<OperationResult<O>> {
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

  readonly #retry = (): void => {
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
        if (!this.#isClosed) this.#timer = setTimeout(this.#retry, RETRY_MS).unref();
      },
    );
  };
}
