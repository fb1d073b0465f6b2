// The host's REST API, as far as it is needed: Octokit with its plugins for pauses and limits, behind a few calls.
//
// RA1  a request that writes is never repeated here: whether the first one arrived is for the outbox to find out.
// RA2  every request has a deadline; how many wait for their turn is bounded, beyond that the outbox keeps them.
// RA3  the token is in the Authorization header and nowhere else.
// RA4  what the host refuses for having been asked too much is refused to the token: nothing leaves under it meanwhile.

import { createHash } from 'node:crypto';
import { Octokit } from '@octokit/core';
import type { OctokitOptions } from '@octokit/core/types';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import { HandlerError } from '../../handlers/handler.ts';
import { Pace } from '../pace.ts';
import { textMember } from '../payload-member.ts';
import { apiFault, refusedForMs } from './api-fault.ts';

const REQUEST_MS = 20_000;
/** The plugin lets one write go every three seconds. One waits here for that, so that none of them is missed. */
const MAX_WRITING = 2;
const WRITE_EVERY_MS = 3_000;
/** Statuses for which a second attempt a second later changes nothing. */
const NO_RETRY = [400, 401, 403, 404, 409, 410, 422, 429, 451];

/** The version of the API all this was written for. */
const HEADERS = { 'x-github-api-version': '2022-11-28' };

/** Inside of the others, which may have kept a request for seconds: what it says counts as it leaves. */
function paced(octokit: Octokit, { leave }: OctokitOptions): object {
  octokit.hook.wrap('request', (request, parameters) => (leave as Leave)(async () => request(parameters)));
  return {};
}

type Leave = <T>(request: () => Promise<T>) => Promise<T>;

const Client = Octokit.plugin(paced, retry, throttling);
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface ApiAnswer {
  readonly status: number;
  readonly data: unknown;
  /** The `Link` header. */
  readonly link: string | undefined;
}

/** One for each token. */
export class RepoHostApi {
  readonly #octokit: InstanceType<typeof Client>;
  readonly #host: string;
  #ownLogin: string | undefined;
  readonly #askLoginEveryMs: number;
  /** When whose token it is may be asked, in terms of performance.now. */
  #askLoginAt = 0;
  readonly #pace = new Pace(WRITE_EVERY_MS);
  #writing = 0;

  /** `askLoginEveryMs` is the least pause between two questions whose token it is. */
  constructor(apiUrl: string, token: string, askLoginEveryMs: number) {
    this.#askLoginEveryMs = askLoginEveryMs;
    this.#host = new URL(apiUrl).host;
    const isLimited = (): boolean => false;
    this.#octokit = new Client({
      baseUrl: apiUrl.replace(/\/+$/, ''),
      auth: token,
      userAgent: 'actor-gateway',
      log: silent,
      leave: this.#leave,
      request: { log: silent },
      retry: { doNotRetry: NO_RETRY, retries: 1 },
      throttle: {
        // Those who share a token share its limits.
        id: createHash('sha256').update(`${apiUrl}\n${token}`).digest('hex'),
        onRateLimit: isLimited,
        onSecondaryRateLimit: isLimited,
      },
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
        const { isFinal, retryAfterMs = 0 } = error instanceof HandlerError ? error : new HandlerError('');
        if (!isFinal) this.#askLoginAt = performance.now() + Math.max(retryAfterMs, this.#askLoginEveryMs);
      },
    );
  }

  noteOwnLogin(login: string | undefined): void {
    this.#ownLogin ??= login;
  }

  /** GET of a path below the API's address. Rejects with a HandlerError; `what` is what it says was asked for. */
  read(path: string, what: string, signal: AbortSignal): Promise<ApiAnswer> {
    return this.#request(`GET ${path}`, {}, what, signal);
  }

  /** POST. Rejects with a HandlerError, at once where it is not its turn. */
  async write(path: string, body: object, what: string, signal: AbortSignal): Promise<ApiAnswer> {
    const pauseMs =
      this.#writing < MAX_WRITING ? this.#pace.takeTurn() : this.#pace.putOff(this.#writing * WRITE_EVERY_MS);
    if (pauseMs !== undefined) throw this.#tooSoon(pauseMs);
    this.#writing += 1;
    try {
      return await this.#request(`POST ${path}`, { ...body, request: { retries: 0 } }, what, signal);
    } finally {
      this.#writing -= 1;
    }
  }

  async #request(route: string, parameters: object, what: string, signal: AbortSignal): Promise<ApiAnswer> {
    const { request = {} } = parameters as { readonly request?: object };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS + MAX_WRITING * WRITE_EVERY_MS)]);
    try {
      signal.throwIfAborted();
      const asked = this.#octokit.request(route, {
        ...parameters,
        headers: HEADERS,
        request: { ...request, signal: inTime },
      });
      const { status, data, headers } = await untilAborted(asked, inTime);
      return { status, data, link: headers.link };
    } catch (error) {
      throw apiFault(error, this.#host, what);
    }
  }

  readonly #leave: Leave = async (request) => {
    if (this.#pace.isHeld) throw this.#tooSoon(this.#pace.putOff());
    return this.#pace.run(request, refusedForMs);
  };

  #tooSoon(retryAfterMs: number): HandlerError {
    return new HandlerError(`${this.#host} takes no more for now; it is not yet the turn of this`, {
      isTooSoon: true,
      retryAfterMs,
    });
  }
}

/** The plugins hold requests back without looking at signals. */
async function untilAborted<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([asked, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
