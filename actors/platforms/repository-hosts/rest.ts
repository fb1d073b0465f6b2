// HTTP client for the REST API of a repository host, with a rate limit per token. The token is only in the
// Authorization header.
//
// The client does not repeat writes: the outbox checks if the first request was executed. Every request has a
// deadline. A request above the rate limit is not delayed but rejected, and the outbox retries it. If the
// host limits the token, or a response reports that the quota is used up, no request is sent for that time.

import { type ApiRequest, HttpApi } from '../../../libs/rest/http-api.ts';
import { usedUpMs } from '../../../libs/rest/rate-limit.ts';
import { RateLimiter } from '../../../libs/rest/rate-limiter.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { requestError } from '../../events/outbox/platform-errors.ts';
import { memberOf } from '../payloads/payload-member.ts';
import { deliveryErrorOf } from './errors.ts';

const REQUEST_MS = 20_000;
/** Maximum response size: a hundred comments of maximum length. */
const MAX_ANSWER_BYTES = 33_554_432;

export interface HostResponse {
  readonly status: number;
  readonly data: unknown;
  /** The `Link` header. */
  readonly link: string | undefined;
  /** Time of the response by the host's clock, epoch ms; undefined if the host omits it. */
  readonly time: number | undefined;
}

export interface RepoRestOptions {
  readonly baseUrl: string;
  readonly token: string;
  /** Other forms of the token in headers, which are also removed from errors. */
  readonly otherSecrets?: readonly string[];
  /** Minimum interval between writes. Writes notify people, and hosts block clients that write faster. */
  readonly writeEveryMs: number;
  /** Headers of every request, including the token's. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One client per token. */
export class RepoRest {
  readonly #api: HttpApi;
  readonly #pace: RateLimiter;
  #isWriting = false;

  constructor({ baseUrl, token, otherSecrets = [], writeEveryMs, headers }: RepoRestOptions) {
    this.#pace = new RateLimiter(writeEveryMs);
    this.#api = new HttpApi({
      baseUrl,
      headers,
      timeoutMs: REQUEST_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      redirects: 'same-origin',
      secrets: [token, ...otherSecrets],
    });
  }

  /** Sends a GET. Rejects with a DeliveryError; `what` names the request in its message. */
  read(path: string, what: string, signal?: AbortSignal): Promise<HostResponse> {
    return this.#request({ path, signal }, what);
  }

  /** Sends a write. Rejects with a DeliveryError, immediately if the rate limit is reached. */
  async write(
    path: string,
    body: object,
    what: string,
    signal: AbortSignal,
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'POST',
  ): Promise<HostResponse> {
    const pauseMs = this.#isWriting ? this.#pace.postpone() : this.#pace.reserveSlot();
    if (pauseMs !== undefined) throw this.#rateLimited(pauseMs);
    this.#isWriting = true;
    try {
      return await this.#request({ method, path, json: body, signal }, what);
    } finally {
      this.#isWriting = false;
    }
  }

  /**
   * Creates an object by POST and returns it as the host sent it. Rejects with a final error if the response
   * does not confirm the creation.
   */
  async create(path: string, body: object, what: string, signal: AbortSignal): Promise<unknown> {
    const { status, data } = await this.write(path, body, what, signal);
    // A redirect turns the POST into a GET, which returns 200 with a list.
    if (status === 201 || memberOf(data, 'id') !== undefined) return data;
    const message = `${what}: response ${status} instead of 201`;
    throw new DeliveryError(message, { platformCode: status, isFinal: true });
  }

  /** Changes an object. Rejects with `isTargetMissing` if it no longer exists. */
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
      throw fault.with({ isFinal: true, isRateLimited: false, isTargetMissing: true });
    }
  }

  async #request(request: ApiRequest, what: string): Promise<HostResponse> {
    if (this.#pace.isHeld) throw this.#rateLimited(this.#pace.postpone());
    const send = async () => {
      const response = await this.#api.request(request);
      const resetMs = usedUpMs(response.headers);
      if (resetMs !== undefined) this.#pace.hold(resetMs);
      const { host } = this.#api;
      if (!response.isOk)
        throw deliveryErrorOf(response, { host, what, isWriting: request.method !== undefined });
      return response;
    };
    try {
      const { status, json, headers } = await this.#pace.run(send, requestedPauseMs);
      const time = Date.parse(headers.get('date') ?? '');
      const link = headers.get('link') ?? undefined;
      return { status, data: json, link, time: Number.isNaN(time) ? undefined : time };
    } catch (error) {
      throw requestError(error, what);
    }
  }

  #rateLimited(retryAfterMs: number): DeliveryError {
    return new DeliveryError(`${this.#api.host}: rate limited, waiting for a send slot`, {
      isRateLimited: true,
      isUncontacted: true,
      retryAfterMs,
    });
  }
}

/** Returns the pause that the host requested for the token. */
function requestedPauseMs(error: unknown): number | undefined {
  return error instanceof DeliveryError && error.isRateLimited ? error.retryAfterMs : undefined;
}

/** Returns the id in a response object; '' if missing. */
export function idOf(object: unknown): string {
  const id = memberOf(object, 'id');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : '';
}
