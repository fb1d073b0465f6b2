// Answers and logs webhook requests whose events the store has refused. The sender is told to retry, without the reason; the log
// has the reason, at a limited rate, since senders retry often.

import { StoreUnavailableError } from '../../actors/base/errors/errors.ts';
import type { Log } from '../../actors/base/errors/log.ts';
import { type ExchangeContext, retryAfter } from './mcp/exchange-context.ts';
import { statusOf } from './status.ts';

const TELL_EVERY_MS = 10_000;

export class RefusedEvents {
  readonly #log: Log;
  /** Since the start. */
  #count = 0;
  #tellAt = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Answers the sender; false for an error of another kind. */
  answer(context: ExchangeContext, error: unknown): boolean {
    if (!(error instanceof StoreUnavailableError)) return false;
    this.#count += 1;
    const now = performance.now();
    if (now >= this.#tellAt) {
      this.#tellAt = now + TELL_EVERY_MS;
      this.#log.error(
        { request_id: context.requestId, reason: error.message, refused: this.#count },
        'an event could not be stored and was refused',
      );
    }
    const message = 'the event cannot be stored at the moment; send it again later';
    context.error(statusOf(error), message, retryAfter(error));
    return true;
  }
}
