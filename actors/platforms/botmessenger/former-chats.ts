// Groups that have become supergroups: the platform gives them another id then, and conversations and filters go on under
// the one they know. Kept in the store, for as long as the bot is used.
//
// FC1  whoever asks has the ids that a chat had before, the first one last, and the id that it has now.
// FC2  a change is durable before anything that was written under the new id is.

import type { Store } from '../../store/store.ts';
import type { Migration } from './update.ts';

const SPACE = 'botmessenger-chats';
/** More of one bot are not followed; groups grow into supergroups once in their life. */
const MAX_CHATS = 10_000;

export class FormerChats {
  readonly #bot: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  /** Former ids by the present one. */
  readonly #former = new Map<string, readonly string[]>();
  readonly #present = new Map<string, string>();
  /** One change at a time: each is written together with all before it. */
  #noting: Promise<unknown> = Promise.resolve();

  constructor(bot: string, store: Pick<Store, 'get' | 'put'>) {
    this.#bot = bot;
    this.#store = store;
  }

  /** Loads the changes from the store. */
  async load(): Promise<void> {
    const value = (await this.#store.get(SPACE, this.#bot))?.value;
    if (value === undefined) return;
    for (const [present, former] of JSON.parse(value) as [string, string[]][]) this.#note(present, former);
  }

  readonly formerIdsOf = (chat: string): readonly string[] => this.#former.get(chat) ?? [];

  presentIdOf(chat: string): string {
    return this.#present.get(chat) ?? chat;
  }

  /** False where it is known. */
  note(migration: Migration): Promise<boolean> {
    const noting = this.#noting.catch(() => {}).then(() => this.#keep(migration));
    this.#noting = noting;
    return noting;
  }

  async #keep({ from, to }: Migration): Promise<boolean> {
    if (from === to || this.presentIdOf(from) === to || this.#former.size >= MAX_CHATS) return false;
    const former = [from, ...this.formerIdsOf(from)];
    const all = [...this.#former].filter(([present]) => present !== from);
    await this.#store.put(SPACE, this.#bot, JSON.stringify([...all, [to, former]]));
    this.#former.delete(from);
    this.#note(to, former);
    return true;
  }

  #note(present: string, former: readonly string[]): void {
    this.#former.set(present, former);
    for (const each of former) this.#present.set(each, present);
  }
}
