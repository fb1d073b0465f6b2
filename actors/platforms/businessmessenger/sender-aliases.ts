// Under which name a person's conversation is kept. One person may write with a number, with an id, or with both, and it is one
// conversation: its name is the id where that was known first, else the number, and what else the person is known by leads
// to it.
//
// The store is asked once for each person and process; what is remembered is bounded.
//
// SA1  where an id or a number by itself has led once it leads for good, also over a restart: history and order hang on it. With
//      both it is where the id leads, or the number, where only that is known.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Store } from '../../store/store.ts';
import type { Sender } from './notification.ts';

const SPACE = 'businessmessenger-senders';
/** From the last time that something new was learnt of the person. */
const KEPT_MS = 400 * 86_400_000;
const MAX_REMEMBERED = 10_000;

export class SenderAliases {
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #maxRemembered: number;
  /** By number and id of the business's number; the oldest first. */
  readonly #names = new Map<string, Promise<string | undefined>>();

  constructor(store: Pick<Store, 'get' | 'put'>, maxRemembered = MAX_REMEMBERED) {
    this.#store = store;
    this.#maxRemembered = maxRemembered;
  }

  /** The name of a person who writes to a number of the business. Rejects as the store does. */
  async nameOf(phoneNumberId: string, sender: Sender): Promise<string> {
    const { number, userId } = sender;
    const own = [userId, number].filter((each) => each !== undefined);
    const known = await Promise.all(own.map((each) => this.#known(`${phoneNumberId}/${each}`)));
    const name = known.find((each) => each !== undefined) ?? own[0] ?? '';
    for (const [index, each] of own.entries()) {
      if (known[index] !== undefined) continue;
      // Of two that learn of a person at the same time the first is right.
      if (!(await this.#keep(`${phoneNumberId}/${each}`, name))) return this.nameOf(phoneNumberId, sender);
    }
    return name;
  }

  #known(key: string): Promise<string | undefined> {
    let found = this.#names.get(key);
    if (found === undefined) {
      found = this.#store.get(SPACE, key).then((kept) => kept?.value);
      // What could not be asked is asked again.
      found.catch(() => this.#names.delete(key));
      this.#remember(key, found);
    }
    return found;
  }

  /** False when another has told something before. */
  async #keep(key: string, name: string): Promise<boolean> {
    const isNew = await this.#store.put(SPACE, key, name, { ttlMs: KEPT_MS, ifAbsent: true });
    if (isNew) this.#remember(key, Promise.resolve(name));
    else this.#names.delete(key);
    return isNew;
  }

  #remember(key: string, name: Promise<string | undefined>): void {
    this.#names.delete(key);
    this.#names.set(key, name);
    forgetOldest(this.#names, this.#maxRemembered);
  }
}
