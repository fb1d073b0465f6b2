// The REST API of a repository host, as far as it is needed, at the pace of the token.
//
// The token is in the Authorization header and nowhere else.
//
// RA1  a request that writes is never repeated here: whether the first one arrived is for the outbox to find out.
// RA2  every request has a deadline; none waits here for its turn, the outbox keeps it.
// RA4  what the host refuses for having been asked too much is refused to the token: nothing leaves under it meanwhile, nor where
//      an answer says that nothing is left.

import { type ApiRequest, HttpApi } from '../../../libs/rest/http-api.ts';
import { Pace } from '../../../libs/rest/pace.ts';
import { usedUpMs } from '../../../libs/rest/rate-limit.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { sendingFault } from '../../events/outbox/platform-errors.ts';
import { memberOf } from '../payloads/payload-member.ts';
import { deliveryErrorOf } from './errors.ts';

const REQUEST_MS = 20_000;
/** A page of a hundred comments, each as long as they may be. */
const MAX_ANSWER_BYTES = 33_554_432;

export interface ApiResponse {
  readonly status: number;
  readonly data: unknown;
  /** The `Link` header. */
  readonly link: string | undefined;
  /** When the host answered, by its clock, in epoch ms; undefined where it does not say. */
  readonly time: number | undefined;
}

export interface RepoRestOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** Other forms of it in the headers, which must be seen as little. */
  readonly otherSecrets?: readonly string[];
  /** What notifies people may not come more often, or the host takes nothing for a while. */
  readonly writeEveryMs: number;
  /** Of every request, the one with the token among them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One for each token. */
export class RepoRest {
  readonly #api: HttpApi;
  readonly #pace: Pace;
  #isWriting = false;

  constructor({ baseUrl, token, otherSecrets = [], writeEveryMs, headers }: RepoRestOptions) {
    this.#pace = new Pace(writeEveryMs);
    this.#api = new HttpApi({
      baseUrl,
      headers,
      timeoutMs: REQUEST_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      redirects: 'same-origin',
      secrets: [token, ...otherSecrets],
    });
  }

  /** GET of a path below the API's address. Rejects with a DeliveryError; `what` is what it says was asked for. */
  read(path: string, what: string, signal?: AbortSignal): Promise<ApiResponse> {
    return this.#request({ path, signal }, what);
  }

  /** Rejects with a DeliveryError, at once where it is not its turn. */
  async write(
    path: string,
    body: object,
    what: string,
    signal: AbortSignal,
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'POST',
  ): Promise<ApiResponse> {
    const pauseMs = this.#isWriting ? this.#pace.putOff() : this.#pace.takeTurn();
    if (pauseMs !== undefined) throw this.#tooSoon(pauseMs);
    this.#isWriting = true;
    try {
      return await this.#request({ method, path, json: body, signal }, what);
    } finally {
      this.#isWriting = false;
    }
  }

  /** POST of something new, which is given as the host made it; as `write`, and final where the host does not say that it did. */
  async create(path: string, body: object, what: string, signal: AbortSignal): Promise<unknown> {
    const { status, data } = await this.write(path, body, what, signal);
    // A redirect turns a POST into a GET, which is answered 200 and gives a list.
    if (status === 201 || memberOf(data, 'id') !== undefined) return data;
    const message = `${what} was answered ${status} instead of 201`;
    throw new DeliveryError(message, { platformCode: status, isFinal: true });
  }

  /** As `write`; `isTargetGone` where the host has nothing there any more. */
  async change(
    method: 'PUT' | 'PATCH',
    path: string,
    body: object,
    what: string,
    signal: AbortSignal,
  ): Promise<unknown> {
    try {
      return (await this.write(path, body, what, signal, method)).data;
    } catch (error) {
      const fault = error as DeliveryError;
      if (fault.platformCode !== 404 && fault.platformCode !== 410) throw fault;
      throw fault.with({ isFinal: true, isTooSoon: false, isTargetGone: true });
    }
  }

  async #request(request: ApiRequest, what: string): Promise<ApiResponse> {
    if (this.#pace.isHeld) throw this.#tooSoon(this.#pace.putOff());
    const ask = async () => {
      const answer = await this.#api.request(request);
      const leftInMs = usedUpMs(answer.headers);
      if (leftInMs !== undefined) this.#pace.hold(leftInMs);
      const { host } = this.#api;
      if (!answer.isOk)
        throw deliveryErrorOf(answer, { host, what, isWriting: request.method !== undefined });
      return answer;
    };
    try {
      const { status, json, headers } = await this.#pace.run(ask, refusedForMs);
      const time = Date.parse(headers.get('date') ?? '');
      const link = headers.get('link') ?? undefined;
      return { status, data: json, link, time: Number.isNaN(time) ? undefined : time };
    } catch (error) {
      throw sendingFault(error, what);
    }
  }

  #tooSoon(retryAfterMs: number): DeliveryError {
    return new DeliveryError(`${this.#api.host} takes no more for now; it is not yet the turn of this`, {
      isTooSoon: true,
      isUnasked: true,
      retryAfterMs,
    });
  }
}

/** For how long the host takes nothing more from this token, where that is what it says. */
function refusedForMs(error: unknown): number | undefined {
  return error instanceof DeliveryError && error.isTooSoon ? error.retryAfterMs : undefined;
}

/** The host's id of what it has made, or has listed; '' where it names none. */
export function idOf(made: unknown): string {
  const id = memberOf(made, 'id');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : '';
}
