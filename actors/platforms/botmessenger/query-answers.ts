// Answers pressed buttons (callback queries); an unanswered button looks busy. The answer is empty and sent
// immediately, independent of the event. A press that decides an approval is answered with the result
// (outbound.ts); if that takes too long, an empty answer is sent here.
//
// An answer is retried while it is useful, and succeeds once. Concurrent requests and queued queries are
// limited: the newest query is sent first, the oldest is dropped.

import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../base/errors/log.ts';
import type { BotApi } from './api.ts';
import { BotRefusal } from './errors.ts';

/** Time limit for useful answers; the platform expects it within ten seconds. */
const USEFUL_MS = 9_000;
const CALL_MS = 4_000;
/** Time limit for a decision's result to answer the press. */
const DELAY_MS = 4_000;
const FIRST_PAUSE_MS = 300;
const CONCURRENCY = 8;
const MAX_QUEUED = 500;

interface CallbackQuery {
  readonly id: string;
  readonly until: number;
}

export class QueryAnswers {
  readonly #api: BotApi;
  readonly #log: Log;
  readonly #queue: CallbackQuery[] = [];
  #running = 0;
  /** Number of delayed answers. */
  #delayed = 0;

  constructor(api: BotApi, log: Log) {
    this.#api = api;
    this.#log = log;
  }

  /** Queues an empty answer and returns immediately. */
  answer(id: string, usefulMs = USEFUL_MS): void {
    this.#queue.push({ id, until: performance.now() + usefulMs });
    if (this.#queue.length > MAX_QUEUED) this.#queue.shift();
    this.#sendNext();
  }

  /** Sends an empty answer after DELAY_MS, unless `isAnswered` then returns true. Returns immediately. */
  answerUnless(id: string, isAnswered: (id: string) => boolean): void {
    if (this.#delayed >= MAX_QUEUED) {
      this.answer(id);
      return;
    }
    this.#delayed += 1;
    const answerNow = () => {
      this.#delayed -= 1;
      if (!isAnswered(id)) this.answer(id, USEFUL_MS - DELAY_MS);
    };
    setTimeout(answerNow, DELAY_MS).unref();
  }

  #sendNext(): void {
    while (this.#running < CONCURRENCY) {
      const query = this.#queue.pop();
      if (query === undefined) return;
      this.#running += 1;
      void this.#answer(query).finally(() => {
        this.#running -= 1;
        this.#sendNext();
      });
    }
  }

  async #answer({ id, until }: CallbackQuery): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      const remainingMs = until - performance.now();
      if (remainingMs <= 0) return;
      try {
        const timeoutMs = Math.min(CALL_MS, remainingMs);
        await this.#api.call('answerCallbackQuery', { callback_query_id: id }, { timeoutMs });
        return;
      } catch (error) {
        const { status = 0, retryAfterMs } = error instanceof BotRefusal ? error : {};
        // The query is already answered, or too old.
        if (status >= 400 && status < 500 && status !== 429) return;
        const waitMs = Math.max(pauseMs, retryAfterMs ?? 0);
        if (performance.now() + waitMs >= until) {
          this.#log.warn({ reason: (error as Error).message }, 'could not answer a pressed button');
          return;
        }
        await pause(waitMs, undefined, { ref: false });
      }
    }
  }
}
