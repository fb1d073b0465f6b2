// What routing at /mcp needs, for all servers and for each profile; what a profile needs is made with its first request.

import type { Profile, View } from '../profiles/profile.ts';
import type { RouterHost } from '../router-host.ts';
import type { AggregateContext } from './aggregate-router.ts';
import { IncompleteLists } from './incomplete-lists.ts';

export class AggregateContexts {
  readonly #gateway: RouterHost;
  /** Of all servers. */
  readonly #all: AggregateContext;
  readonly #byProfile = new WeakMap<Profile, AggregateContext>();

  constructor(gateway: RouterHost) {
    this.#gateway = gateway;
    this.#all = this.#make(gateway, undefined);
  }

  /** Of the servers of a profile; without one, of all. */
  of(profile: Profile | undefined): AggregateContext {
    if (profile === undefined) return this.#all;
    let context = this.#byProfile.get(profile);
    if (context === undefined) {
      context = this.#make(profile, profile);
      this.#byProfile.set(profile, context);
    }
    return context;
  }

  #make({ aggregate, discovery, search }: View, profile: Profile | undefined): AggregateContext {
    const { eraBridge, forwarder, sessions, config, log } = this.#gateway;
    const listTimeoutMs = config.list_timeout_seconds * 1000;
    const incomplete = new IncompleteLists(log);
    const onList: AggregateContext['onList'] = (kind, servers) => incomplete.note(kind, servers);
    const shown = { aggregate, discovery, search, profile };
    return { ...shown, eraBridge, forwarder, sessions, listTimeoutMs, onList };
  }
}
