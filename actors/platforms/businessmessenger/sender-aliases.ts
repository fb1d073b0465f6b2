// Maps the identifiers of senders to conversation names. A person may write with a number, a user id, or
// both. The first message determines the name: the user id if present, otherwise the number. Identifiers that
// appear later are mapped to that name.
//
// A stored mapping never changes, because history and order depend on it. If both identifiers are mapped, the
// mapping of the user id applies. The store is queried once per person and process; the cache is bounded.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Store } from '../../store/store.ts';
import type { MessengerSender } from './notification.ts';

const SPACE = 'businessmessenger-senders';
/** Mapping lifetime since the last change. */
const LIFETIME_MS = 400 * 86_400_000;
const MAX_REMEMBERED = 10_000;

export class SenderAliases {
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #maxRemembered: number;
  /** By business number and identifier, the oldest first. */
  readonly #names = new Map<string, Promise<string | undefined>>();

  constructor(store: Pick<Store, 'get' | 'put'>, maxRemembered = MAX_REMEMBERED) {
    this.#store = store;
    this.#maxRemembered = maxRemembered;
  }

  /** Returns the name of the sender's conversation with a number. Rejects if the store does. */
  async nameOf(phoneNumberId: string, sender: MessengerSender): Promise<string> {
    const { number, userId } = sender;
    const identifiers = [userId, number].filter((each) => each !== undefined);
    const mappings = await Promise.all(identifiers.map((each) => this.#lookUp(`${phoneNumberId}/${each}`)));
    const name = mappings.find((each) => each !== undefined) ?? identifiers[0] ?? '';
    for (const [index, each] of identifiers.entries()) {
      if (mappings[index] !== undefined) continue;
      // If two processes add a mapping concurrently, the first one applies.
      if (!(await this.#addMapping(`${phoneNumberId}/${each}`, name)))
        return this.nameOf(phoneNumberId, sender);
    }
    return name;
  }

  #lookUp(key: string): Promise<string | undefined> {
    let mapping = this.#names.get(key);
    if (mapping === undefined) {
      mapping = this.#store.get(SPACE, key).then((row) => row?.value);
      // The next message repeats a failed query.
      mapping.catch(() => this.#names.delete(key));
      this.#remember(key, mapping);
    }
    return mapping;
  }

  /** Stores a mapping. Returns false if another process has already stored one. */
  async #addMapping(key: string, name: string): Promise<boolean> {
    const isNew = await this.#store.put(SPACE, key, name, { ttlMs: LIFETIME_MS, ifAbsent: true });
    if (isNew) this.#remember(key, Promise.resolve(name));
    else this.#names.delete(key);
    return isNew;
  }

  #remember(key: string, name: Promise<string | undefined>): void {
    this.#names.delete(key);
    this.#names.set(key, name);
    deleteOldest(this.#names, this.#maxRemembered);
  }
}
