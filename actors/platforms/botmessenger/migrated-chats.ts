// Maps migrated groups to their old ids. A group that is upgraded to a supergroup gets a new id;
// conversations and filters continue to use the old id. The mapping is stored and never expires.
//
// A migration is durable before any event that uses the new id.

import type { Store } from '../../store/store.ts';
import type { GroupMigration } from './update.ts';

const SPACE = 'botmessenger-chats';
/** Maximum number of groups per bot. A group migrates only once. */
const MAX_CHATS = 10_000;

export class MigratedChats {
  readonly #bot: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  /** Old ids by current id, the first one last. */
  readonly #previous = new Map<string, readonly string[]>();
  readonly #current = new Map<string, string>();
  /** Last write. Writes are serialised, because each writes the whole mapping. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(bot: string, store: Pick<Store, 'get' | 'put'>) {
    this.#bot = bot;
    this.#store = store;
  }

  /** Loads the mapping from the store. */
  async load(): Promise<void> {
    const value = (await this.#store.get(SPACE, this.#bot))?.value;
    if (value === undefined) return;
    for (const [current, previous] of JSON.parse(value) as [string, string[]][]) this.#add(current, previous);
  }

  readonly previousIdsOf = (chat: string): readonly string[] => this.#previous.get(chat) ?? [];

  currentIdOf(chat: string): string {
    return this.#current.get(chat) ?? chat;
  }

  /** Stores a migration. Returns false if already stored. */
  note(migration: GroupMigration): Promise<boolean> {
    const writing = this.#writing.catch(() => {}).then(() => this.#record(migration));
    this.#writing = writing;
    return writing;
  }

  async #record({ from, to }: GroupMigration): Promise<boolean> {
    if (from === to || this.currentIdOf(from) === to || this.#previous.size >= MAX_CHATS) return false;
    const previous = [from, ...this.previousIdsOf(from)];
    const all = [...this.#previous].filter(([current]) => current !== from);
    await this.#store.put(SPACE, this.#bot, JSON.stringify([...all, [to, previous]]));
    this.#previous.delete(from);
    this.#add(to, previous);
    return true;
  }

  #add(current: string, previous: readonly string[]): void {
    this.#previous.set(current, previous);
    for (const each of previous) this.#current.set(each, current);
  }
}
