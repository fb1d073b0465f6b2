// API clients for a platform, one per credential. Triggers with the same credential share the client with its
// rate limits and caches. A client lives as long as any trigger uses its credential; a reload replaces the
// trigger, not the client.

import { createHash } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { WeakValues } from '../../base/bounds/weak-values.ts';

export class ClientsByCredential<T extends Trigger, Client extends object> {
  readonly #credentialOf: (trigger: T) => readonly string[] | undefined;
  readonly #make: (trigger: T) => Client;
  readonly #byTrigger = new WeakMap<T, Client>();
  readonly #byCredential = new WeakValues<Client>();

  /**
   * `credentialOf` returns the address and secrets that identify a credential; undefined if the trigger has
   * none.
   */
  constructor(credentialOf: (trigger: T) => readonly string[] | undefined, make: (trigger: T) => Client) {
    this.#credentialOf = credentialOf;
    this.#make = make;
  }

  /** Returns the client; undefined if the credential is missing. */
  readonly of = (trigger: T): Client | undefined => {
    const cached = this.#byTrigger.get(trigger);
    if (cached !== undefined) return cached;
    const credential = this.#credentialOf(trigger);
    if (credential === undefined) return undefined;
    const client = this.#byCredential.getOrCreate(JSON.stringify(credential), () => this.#make(trigger));
    this.#byTrigger.set(trigger, client);
    return client;
  };

  /** Returns the client, for types that require a credential. Throws if the credential is missing. */
  readonly required = (trigger: T): Client => {
    const client = this.of(trigger);
    if (client === undefined) throw new Error(`trigger ${trigger.name} has no credential`);
    return client;
  };

  /**
   * Returns a digest that identifies the credential without revealing it; undefined if the trigger lacks one.
   */
  readonly digestOf = (trigger: T): string | undefined => {
    const credential = this.#credentialOf(trigger);
    if (credential === undefined) return undefined;
    return createHash('sha256').update(JSON.stringify(credential)).digest('hex').slice(0, 16);
  };
}
