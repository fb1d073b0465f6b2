// The host's REST API, as far as it is needed: Octokit's core behind a few calls, at the pace of the token. Its plugins for
// pauses and limits go by a clock that can be set: one that is set back has them wait for hours.
//
// RA1  a request that writes is never repeated here: whether the first one arrived is for the outbox to find out.
// RA2  every request has a deadline; none waits here for its turn, the outbox keeps it.
// RA3  the token is in the Authorization header and nowhere else.
// RA4  what the host refuses for having been asked too much is refused to the token: nothing leaves under it meanwhile.

import { Octokit } from '@octokit/core';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import { Pace } from '../pace.ts';
import { textMember } from '../payload-member.ts';
import { apiFault, refusedForMs } from './api-fault.ts';

const REQUEST_MS = 20_000;
/** What notifies people may not come more often, or the host takes nothing for a while. */
const WRITE_EVERY_MS = 3_000;

/** The version of the API all this was written for. */
const HEADERS = { 'x-github-api-version': '2022-11-28' };

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface ApiResponse {
  readonly status: number;
  readonly data: unknown;
  /** The `Link` header. */
  readonly link: string | undefined;
  /** When the host answered, by its clock, in epoch ms; undefined where it does not say. */
  readonly time: number | undefined;
}

/** One for each token. */
export class RepoHostApi {
  readonly #octokit: Octokit;
  readonly #host: string;
  #ownLogin: string | undefined;
  readonly #askLoginEveryMs: number;
  /** When whose token it is may be asked, in terms of performance.now. */
  #askLoginAt = 0;
  readonly #pace = new Pace(WRITE_EVERY_MS);
  #isWriting = false;

  /** `askLoginEveryMs` is the least pause between two questions whose token it is. */
  constructor(apiUrl: string, token: string, askLoginEveryMs: number) {
    this.#askLoginEveryMs = askLoginEveryMs;
    this.#host = new URL(apiUrl).host;
    this.#octokit = new Octokit({
      baseUrl: apiUrl.replace(/\/+$/, ''),
      auth: token,
      userAgent: 'actor-gateway',
      log: silent,
      request: { log: silent },
    });
  }

  /** The login the token belongs to, as far as it is known by now. */
  get ownLogin(): string | undefined {
    return this.#ownLogin;
  }

  /**
   * Asks whose token it is, in the background, where that is not known: again after a failure when it is called later, but
   * not of a host that does not say (tokens of an app).
   */
  learnOwnLogin(): void {
    if (this.#ownLogin !== undefined || performance.now() < this.#askLoginAt) return;
    this.#askLoginAt = Number.POSITIVE_INFINITY;
    this.read('/user', 'the name of its own user', AbortSignal.timeout(REQUEST_MS)).then(
      ({ data }) => this.noteOwnLogin(textMember(data, 'login')),
      (error: unknown) => {
        const { isFinal, retryAfterMs = 0 } = error instanceof DeliveryError ? error : new DeliveryError('');
        if (!isFinal) this.#askLoginAt = performance.now() + Math.max(retryAfterMs, this.#askLoginEveryMs);
      },
    );
  }

  noteOwnLogin(login: string | undefined): void {
    this.#ownLogin ??= login;
  }

  /** GET of a path below the API's address. Rejects with a DeliveryError; `what` is what it says was asked for. */
  read(path: string, what: string, signal: AbortSignal): Promise<ApiResponse> {
    return this.#request(`GET ${path}`, {}, what, signal);
  }

  /** POST. Rejects with a DeliveryError, at once where it is not its turn. */
  async write(path: string, body: object, what: string, signal: AbortSignal): Promise<ApiResponse> {
    const pauseMs = this.#isWriting ? this.#pace.putOff() : this.#pace.takeTurn();
    if (pauseMs !== undefined) throw this.#tooSoon(pauseMs);
    this.#isWriting = true;
    try {
      return await this.#request(`POST ${path}`, body, what, signal);
    } finally {
      this.#isWriting = false;
    }
  }

  async #request(route: string, parameters: object, what: string, signal: AbortSignal): Promise<ApiResponse> {
    if (this.#pace.isHeld) throw this.#tooSoon(this.#pace.putOff());
    const request = { signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]) };
    const ask = async () => this.#octokit.request(route, { ...parameters, headers: HEADERS, request });
    try {
      signal.throwIfAborted();
      const { status, data, headers } = await this.#pace.run(ask, refusedForMs);
      const time = Date.parse(headers.date ?? '');
      return { status, data, link: headers.link, time: Number.isNaN(time) ? undefined : time };
    } catch (error) {
      throw apiFault(error, this.#host, what);
    }
  }

  #tooSoon(retryAfterMs: number): DeliveryError {
    return new DeliveryError(`${this.#host} takes no more for now; it is not yet the turn of this`, {
      isTooSoon: true,
      retryAfterMs,
    });
  }
}
