// Answers to pressed buttons: until one comes the button turns, for everybody to see. It says nothing and depends on nothing:
// whoever takes the event, and whether anybody does, the platform is told at once that the press has arrived. Of a decision about an
// approval what came of it is the answer (outbound.ts); where that is not known soon, here is one that says nothing.
//
// QA1  each query is answered once where the platform takes it, and given up when the platform has no use for it any more.
// QA2  few at a time, and no more wait than are still of use: the newest go first, the oldest are dropped.

import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../base/errors/log.ts';
import type { BotApi } from './api.ts';
import { BotRefusal } from './errors.ts';

/** The platform expects an answer within ten seconds. */
const USEFUL_MS = 9_000;
const CALL_MS = 4_000;
const SOON_MS = 4_000;
const FIRST_PAUSE_MS = 300;
const AT_ONCE = 8;
const MAX_WAITING = 500;

interface Query {
  readonly id: string;
  readonly until: number;
}

export class QueryAnswers {
  readonly #api: BotApi;
  readonly #log: Log;
  readonly #waiting: Query[] = [];
  #running = 0;
  /** That somebody else may answer. */
  #left = 0;

  constructor(api: BotApi, log: Log) {
    this.#api = api;
    this.#log = log;
  }

  /** Returns at once. */
  answer(id: string, usefulMs = USEFUL_MS): void {
    this.#waiting.push({ id, until: performance.now() + usefulMs });
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#go();
  }

  /** After a while, unless `isAnswered` by then. Returns at once. */
  answerUnless(id: string, isAnswered: (id: string) => boolean): void {
    if (this.#left >= MAX_WAITING) {
      this.answer(id);
      return;
    }
    this.#left += 1;
    const answerNow = () => {
      this.#left -= 1;
      if (!isAnswered(id)) this.answer(id, USEFUL_MS - SOON_MS);
    };
    setTimeout(answerNow, SOON_MS).unref();
  }

  #go(): void {
    while (this.#running < AT_ONCE) {
      const query = this.#waiting.pop();
      if (query === undefined) return;
      this.#running += 1;
      void this.#answer(query).finally(() => {
        this.#running -= 1;
        this.#go();
      });
    }
  }

  async #answer({ id, until }: Query): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      const leftMs = until - performance.now();
      if (leftMs <= 0) return;
      try {
        const timeoutMs = Math.min(CALL_MS, leftMs);
        await this.#api.call('answerCallbackQuery', { callback_query_id: id }, { timeoutMs });
        return;
      } catch (error) {
        const { status = 0, retryAfterMs } = error instanceof BotRefusal ? error : {};
        // It was answered before, or is too old.
        if (status >= 400 && status < 500 && status !== 429) return;
        const waitMs = Math.max(pauseMs, retryAfterMs ?? 0);
        if (performance.now() + waitMs >= until) {
          this.#log.warn({ reason: (error as Error).message }, 'a pressed button could not be answered');
          return;
        }
        await pause(waitMs, undefined, { ref: false });
      }
    }
  }
}
