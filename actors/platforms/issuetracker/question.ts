// A question to the tracker that changes nothing there: it has a deadline, and what became of it says what is not known now.

import type { ApiAnswer, ApiRequest } from '../../../libs/rest/http-api.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformRefusal, platformFault, sendingFault } from '../../events/outbox/platform-errors.ts';
import { wordsIn } from './errors.ts';

const QUESTION_MS = 10_000;

/** A request to the tracker, below its address: the answer, whatever its status. Rejects where there is none. */
export type AskTracker = (request: ApiRequest) => Promise<ApiAnswer>;

export class TrackerQuestion {
  readonly #ask: AskTracker;
  readonly #unknown: string;

  /** `unknown` says what is not known without an answer, `whether TES-41 matches jql_filter`. */
  constructor(ask: AskTracker, unknown: string) {
    this.#ask = ask;
    this.#unknown = unknown;
  }

  /** Rejects with a DeliveryError. */
  async asked(request: ApiRequest): Promise<ApiAnswer> {
    try {
      return await this.#ask({ timeoutMs: QUESTION_MS, ...request });
    } catch (error) {
      throw this.#noted(sendingFault(error, 'a question'));
    }
  }

  /** Why an answer is none. */
  faultOf(answer: ApiAnswer): DeliveryError {
    const { status, retryAfterMs, host, isOk } = answer;
    return this.fault({ status, retryAfterMs, host, text: isOk ? undefined : wordsIn(answer.json) });
  }

  fault(refusal: PlatformRefusal): DeliveryError {
    return this.#noted(platformFault({}, refusal));
  }

  #noted(cause: DeliveryError): DeliveryError {
    const message = `${this.#unknown} is not known: ${cause.message}`;
    return new DeliveryError(message, { ...cause, isOutcomeUnknown: false, cause });
  }
}
