// The incident manager's two APIs, each at the pace of its key: REST, with a key in `Authorization` and a user in `From`, and
// events, with a routing key in the body.
//
// IMA1  nothing is sent twice from here: whether the first arrived is for whoever sends to find out.
// IMA2  no request waits here for its turn: the outbox keeps it. Every one has a deadline.
// IMA3  what is refused for having been too much is refused to the key: nothing leaves under it meanwhile, nor where an answer says
//       that nothing is left.

import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  HttpApi,
  type HttpApiOptions,
} from '../../../libs/rest/http-api.ts';
import { Pace } from '../../../libs/rest/pace.ts';
import { usedUpMs } from '../../../libs/rest/rate-limit.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { GrowingPauses } from '../../events/outbox/growing-pauses.ts';
import { sendingFault } from '../../events/outbox/platform-errors.ts';
import { deliveryErrorOf } from './errors.ts';

const REQUEST_MS = 20_000;
/** All notes of an incident, of which there may be 2,000, come in one answer. */
const MAX_ANSWER_BYTES = 33_554_432;

/** The platform takes 960 requests a minute of a REST key, and about 120 events of a routing key. */
export const REST_PACE = { everyMs: 100, burst: 10 } as const;
export const EVENTS_PACE = { everyMs: 550, burst: 5 } as const;

const THE_KEY = 'key';

/** One for each key. */
export class IncidentManagerApi {
  readonly #api: HttpApi;
  readonly #pace: Pace;
  readonly #pauses = new GrowingPauses();
  /** In whose name it writes, as an answer has named that user. */
  ownUser: string | undefined;

  constructor(
    options: Pick<HttpApiOptions, 'baseUrl' | 'headers' | 'secrets'>,
    { everyMs, burst }: { readonly everyMs: number; readonly burst: number },
  ) {
    this.#api = new HttpApi({ ...options, timeoutMs: REQUEST_MS, maxAnswerBytes: MAX_ANSWER_BYTES });
    this.#pace = new Pace(everyMs, undefined, burst);
  }

  /** For how long nothing leaves. */
  get heldMs(): number {
    return this.#pace.waitMs;
  }

  /**
   * An answer that is the platform's and says yes. Rejects with a DeliveryError, at once where it is not its turn; `what` is what
   * it says was asked for. `retry` is for a refusal that names no pause.
   */
  async request(request: ApiRequest, what: string, retry: TriggerRetry): Promise<ApiAnswer> {
    const pauseMs = this.#pace.takeTurn();
    if (pauseMs !== undefined) throw this.#tooSoon(pauseMs);
    const ask = async () => {
      const answer = await this.#api.request(request);
      const leftInMs = usedUpMs(answer.headers);
      // A page that somebody else answers with is no answer of the platform.
      if (!answer.isOk || !isItsOwn(answer)) throw this.#refused(deliveryErrorOf(answer), retry);
      if (leftInMs !== undefined) this.#pace.hold(leftInMs);
      this.#pauses.end(THE_KEY);
      return answer;
    };
    try {
      return await this.#pace.run(ask, refusedForMs);
    } catch (error) {
      throw sendingFault(error, what);
    }
  }

  #refused(error: DeliveryError, retry: TriggerRetry): DeliveryError {
    if (!error.isTooSoon || error.retryAfterMs !== undefined) return error;
    return error.with({ retryAfterMs: this.#pauses.next(THE_KEY, retry) });
  }

  #tooSoon(retryAfterMs: number): DeliveryError {
    return new DeliveryError(`${this.#api.host} takes no more for now; it is not yet the turn of this`, {
      isTooSoon: true,
      isUnasked: true,
      retryAfterMs,
    });
  }
}

/** For how long the platform takes nothing more under this key, where that is what it says. */
function refusedForMs(error: unknown): number | undefined {
  return error instanceof DeliveryError && error.isTooSoon ? error.retryAfterMs : undefined;
}

const isItsOwn = ({ json, bytes }: ApiAnswer): boolean => bytes.length === 0 || typeof json === 'object';
