// Conversation references: the conversation's stored address (`target`, and a service URL on some platforms).
// Messages that are not replies need it, also in another process.
//
// A reference is written when it changes, and renewed before it expires, not with each event. Concurrent
// callers with the same reference share one write. Up to `max` references per account are stored, the most
// recently used; each expires separately.

import type { OutboundTarget } from '../../events/outbox/message.ts';
import type { Store } from '../../store/store.ts';

export interface ConversationReference {
  readonly target: OutboundTarget;
  /** Base address of this conversation, on platforms with several. */
  readonly serviceUrl?: string | undefined;
}

export interface ReferencesOptions {
  readonly store: Pick<Store, 'put' | 'get' | 'delete' | 'keys'>;
  readonly platform: string;
  readonly account: string;
  /** @default 10000 */
  readonly max?: number;
  readonly keepMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

interface ReferenceEntry {
  /** Serialised reference; undefined if only its key is loaded. */
  readonly text: string | undefined;
  readonly at: number;
  /** Pending write. */
  readonly writing?: Promise<void>;
}

const MAX_REFERENCES = 10_000;

export class ConversationReferences {
  readonly #options: ReferencesOptions;
  readonly #space: string;
  readonly #max: number;
  readonly #now: () => number;
  /** By conversation, the least recently used first. */
  readonly #entries = new Map<string, ReferenceEntry>();
  #loading: Promise<void> | undefined;

  constructor(options: ReferencesOptions) {
    this.#options = options;
    this.#space = `references/${options.platform}/${options.account}`;
    this.#max = options.max ?? MAX_REFERENCES;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Resolves when the reference is stored. Rejects if the store fails; the next event of the conversation
   * retries.
   */
  async save(conversation: string, reference: ConversationReference): Promise<void> {
    await this.#load();
    const { keepMs } = this.#options;
    const text = JSON.stringify(reference);
    const current = this.#entries.get(conversation);
    const now = this.#now();
    if (current?.text === text && now - current.at < keepMs / 2) {
      // Recently used, but needs no write.
      this.#setLatest(conversation, current);
      return current.writing;
    }
    const writing = this.#write(conversation, text, now);
    // Set before the write completes, so that the reference is not evicted earlier.
    this.#setLatest(conversation, { text, at: now, writing });
    return writing;
  }

  /** Returns undefined if the reference is unknown or expired. */
  async find(conversation: string): Promise<ConversationReference | undefined> {
    const row = await this.#options.store.get(this.#space, conversation);
    return row === undefined ? undefined : (JSON.parse(row.value) as ConversationReference);
  }

  async #write(conversation: string, text: string, at: number): Promise<void> {
    const { store, keepMs } = this.#options;
    try {
      await store.put(this.#space, conversation, text, { ttlMs: keepMs });
    } catch (error) {
      this.#setLatest(conversation, { text: undefined, at });
      throw error;
    }
    const entry = this.#entries.get(conversation);
    if (entry?.text === text && entry.at === at) this.#entries.set(conversation, { text, at });
    await this.#deleteOldest();
  }

  #setLatest(conversation: string, entry: ReferenceEntry): void {
    this.#entries.delete(conversation);
    this.#entries.set(conversation, entry);
  }

  async #deleteOldest(): Promise<void> {
    while (this.#entries.size > this.#max) {
      const [oldest] = this.#entries.keys();
      if (oldest === undefined) return;
      this.#entries.delete(oldest);
      await this.#options.store.delete(this.#space, oldest);
    }
  }

  #load(): Promise<void> {
    this.#loading ??= this.#loadKeys().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  /** Loads the keys that earlier processes stored, as the least recently used. */
  async #loadKeys(): Promise<void> {
    const keys = await this.#options.store.keys(this.#space);
    for (const key of keys) this.#entries.set(key, { text: undefined, at: 0 });
  }
}
