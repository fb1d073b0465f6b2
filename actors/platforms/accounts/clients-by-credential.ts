// One client of a platform's API for each credential: triggers that have the same share its limits, and what is known of it.
//
// CY1  it lives as long as a trigger that has its credential, and over a reload, which exchanges that trigger for another.

import { createHash } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { WeakValues } from '../../base/bounds/weak-values.ts';

export class ClientsByCredential<T extends Trigger, Client extends object> {
  readonly #credentialOf: (trigger: T) => readonly string[] | undefined;
  readonly #make: (trigger: T) => Client;
  readonly #ofTrigger = new WeakMap<T, Client>();
  readonly #ofCredential = new WeakValues<Client>();

  /** `credentialOf` gives what tells a credential from others, with its address; none for a trigger that has none. */
  constructor(credentialOf: (trigger: T) => readonly string[] | undefined, make: (trigger: T) => Client) {
    this.#credentialOf = credentialOf;
    this.#make = make;
  }

  /** None without a credential. */
  readonly of = (trigger: T): Client | undefined => {
    const before = this.#ofTrigger.get(trigger);
    if (before !== undefined) return before;
    const credential = this.#credentialOf(trigger);
    if (credential === undefined) return undefined;
    const client = this.#ofCredential.of(JSON.stringify(credential), () => this.#make(trigger));
    this.#ofTrigger.set(trigger, client);
    return client;
  };

  /** The same for a type whose triggers all have a credential. Throws for one that has none. */
  readonly required = (trigger: T): Client => {
    const client = this.of(trigger);
    if (client === undefined) throw new Error(`trigger ${trigger.name} has no credential`);
    return client;
  };

  /** Tells its credential from others, and says nothing of it. Undefined without one. */
  readonly digestOf = (trigger: T): string | undefined => {
    const credential = this.#credentialOf(trigger);
    if (credential === undefined) return undefined;
    return createHash('sha256').update(JSON.stringify(credential)).digest('hex').slice(0, 16);
  };
}
