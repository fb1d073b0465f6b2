// Handles events from webhooks that could not be stored. The sender gets a 503 without the reason, and should
// retry. The reason is logged, with a rate limit, because senders retry often.

import { StoreUnavailableError } from '../../actors/base/errors/errors.ts';
import type { Log } from '../../actors/base/errors/log.ts';
import { type ExchangeContext, retryAfter } from './mcp/exchange-context.ts';
import { statusOf } from './status.ts';

const LOG_INTERVAL_MS = 10_000;

export class RefusedEvents {
  readonly #log: Log;
  /** Refused events since the start. */
  #count = 0;
  #logAt = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Responds to the sender. Returns false if the error has another cause. */
  respond(context: ExchangeContext, error: unknown): boolean {
    if (!(error instanceof StoreUnavailableError)) return false;
    this.#count += 1;
    const now = performance.now();
    if (now >= this.#logAt) {
      this.#logAt = now + LOG_INTERVAL_MS;
      this.#log.error(
        { request_id: context.requestId, reason: error.message, refused: this.#count },
        'could not store an event; refused it',
      );
    }
    const message = 'the event cannot be stored at the moment; send it again later';
    context.error(statusOf(error), message, retryAfter(error));
    return true;
  }
}
