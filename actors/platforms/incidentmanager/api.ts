// HTTP client for the two APIs of the incident manager: REST, with a key in `Authorization` and a user in
// `From`, and events, with a routing key in the body. The rate limit is per key.
//
// The client does not repeat requests: the caller checks if the first one was executed. Every request has a
// deadline. A request above the rate limit is not delayed but rejected, and the outbox retries it. If the
// platform limits the key, or a response reports that the quota is used up, no request is sent for that time.

import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import {
  type ApiRequest,
  type ApiResponse,
  HttpApi,
  type HttpApiOptions,
} from '../../../libs/rest/http-api.ts';
import { usedUpMs } from '../../../libs/rest/rate-limit.ts';
import { RateLimiter } from '../../../libs/rest/rate-limiter.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../events/outbox/growing-pauses.ts';
import { requestError } from '../../events/outbox/platform-errors.ts';
import { deliveryErrorOf } from './errors.ts';

const REQUEST_MS = 20_000;
/** Maximum response size: the platform returns all notes of an incident in one response, up to 2,000. */
const MAX_ANSWER_BYTES = 33_554_432;

/**
 * Rate limits: the platform accepts 960 requests per minute and REST key, and about 120 events per routing
 * key.
 */
export const REST_PACE = { everyMs: 100, burst: 10 } as const;
export const EVENTS_PACE = { everyMs: 550, burst: 5 } as const;

/** Name of the pauses; each client has a single key. */
const PAUSE_NAME = 'key';

/** One client per key. */
export class IncidentManagerApi {
  readonly #api: HttpApi;
  readonly #pace: RateLimiter;
  readonly #pauses = new GrowingPauses();
  /** Id of the user in whose name the key writes, known from responses. */
  ownUser: string | undefined;

  constructor(
    options: Pick<HttpApiOptions, 'baseUrl' | 'headers' | 'secrets'>,
    { everyMs, burst }: { readonly everyMs: number; readonly burst: number },
  ) {
    this.#api = new HttpApi({ ...options, timeoutMs: REQUEST_MS, maxAnswerBytes: MAX_ANSWER_BYTES });
    this.#pace = new RateLimiter(everyMs, undefined, burst);
  }

  /** Remaining pause before requests can be sent. */
  get remainingPauseMs(): number {
    return this.#pace.waitMs;
  }

  /**
   * Sends a request and returns a successful response of the platform. Rejects with a DeliveryError,
   * immediately if the rate limit is reached. `what` names the request in the message. `retry` determines the
   * pause after rate limits that name no pause.
   */
  async request(request: ApiRequest, what: string, retry: TriggerRetry): Promise<ApiResponse> {
    const pauseMs = this.#pace.reserveSlot();
    if (pauseMs !== undefined) throw this.#rateLimited(pauseMs);
    const send = async () => {
      const response = await this.#api.request(request);
      const resetMs = usedUpMs(response.headers);
      // A page from a proxy with a successful status is no response of the platform.
      if (!response.isOk || !isFromPlatform(response)) throw this.#refused(deliveryErrorOf(response), retry);
      if (resetMs !== undefined) this.#pace.hold(resetMs);
      this.#pauses.end(PAUSE_NAME);
      return response;
    };
    try {
      return await this.#pace.run(send, requestedPauseMs);
    } catch (error) {
      throw requestError(error, what);
    }
  }

  #refused(error: DeliveryError, retry: TriggerRetry): DeliveryError {
    if (!error.isRateLimited || error.retryAfterMs !== undefined) return error;
    return error.with({ retryAfterMs: this.#pauses.next(PAUSE_NAME, retry) });
  }

  #rateLimited(retryAfterMs: number): DeliveryError {
    return new DeliveryError(`${this.#api.host}: rate limited, waiting for a send slot`, {
      isRateLimited: true,
      isUncontacted: true,
      retryAfterMs,
    });
  }
}

/** Returns the pause that the platform requested for the key. */
function requestedPauseMs(error: unknown): number | undefined {
  return error instanceof DeliveryError && error.isRateLimited ? error.retryAfterMs : undefined;
}

const isFromPlatform = ({ json, bytes }: ApiResponse): boolean =>
  bytes.length === 0 || typeof json === 'object';
