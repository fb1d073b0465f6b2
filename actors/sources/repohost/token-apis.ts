// One API for each token: triggers that have the same share its limits, and what is known of it.
//
// TA1  it lives as long as a trigger that has its token, and over a reload, which exchanges that trigger for another.

import type { RepoHostTrigger } from '../../../config/resources/trigger.ts';
import { RepoHostApi } from './repohost-api.ts';

export class TokenApis {
  readonly #askLoginEveryMs: number;
  readonly #ofTrigger = new WeakMap<RepoHostTrigger, RepoHostApi>();
  /** By address and token. */
  readonly #ofToken = new Map<string, WeakRef<RepoHostApi>>();

  /** `askLoginEveryMs` is the least pause between two questions whose token it is. */
  constructor(askLoginEveryMs: number) {
    this.#askLoginEveryMs = askLoginEveryMs;
  }

  /** None without a token. */
  readonly apiOf = (trigger: RepoHostTrigger): RepoHostApi | undefined => {
    const { api_url, token } = trigger.config;
    if (token === undefined) return undefined;
    const api = this.#ofTrigger.get(trigger) ?? this.#shared(api_url, token);
    this.#ofTrigger.set(trigger, api);
    return api;
  };

  #shared(apiUrl: string, token: string): RepoHostApi {
    for (const [name, ref] of this.#ofToken) if (ref.deref() === undefined) this.#ofToken.delete(name);
    const name = JSON.stringify([apiUrl, token]);
    const api = this.#ofToken.get(name)?.deref() ?? new RepoHostApi(apiUrl, token, this.#askLoginEveryMs);
    this.#ofToken.set(name, new WeakRef(api));
    return api;
  }
}
