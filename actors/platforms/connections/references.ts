// Where a conversation can be reached later, when nobody has just written there: a place of the platform, and what else it
// wants to be addressed by. Kept in the store, since a message of tomorrow may come from another process.
//
// REF1  a reference is written when it changes, and once more before its time is over; not with each event. Whoever notes the same
//       while it is being written waits for that.
// REF2  of an account no more than `max` are kept, those that were noted last, written anew or not; each goes with the time it is
//       kept.

import type { OutboundTarget } from '../../events/outbox/outbound-message.ts';
import type { Store } from '../../store/store.ts';

export interface ConversationReference {
  readonly target: OutboundTarget;
  /** A base address of the platform that holds for this conversation, where it has several. */
  readonly serviceUrl?: string | undefined;
}

export interface ReferencesOptions {
  readonly store: Pick<Store, 'put' | 'get' | 'delete' | 'keys'>;
  readonly platform: string;
  readonly account: string;
  /** @default 10000 */
  readonly max?: number;
  readonly keepMs: number;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}

interface Noted {
  /** As in the store; undefined where only its key is known. */
  readonly text: string | undefined;
  readonly at: number;
  /** While it is being written. */
  readonly writing?: Promise<void>;
}

const MAX_REFERENCES = 10_000;

export class ConversationReferences {
  readonly #options: ReferencesOptions;
  readonly #space: string;
  readonly #max: number;
  readonly #now: () => number;
  /** By conversation, the one noted last at the end. */
  readonly #noted = new Map<string, Noted>();
  #loading: Promise<void> | undefined;

  constructor(options: ReferencesOptions) {
    this.#options = options;
    this.#space = `references/${options.platform}/${options.account}`;
    this.#max = options.max ?? MAX_REFERENCES;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Resolves when it is kept. Rejects as the store does; the next event of the conversation tries again. */
  async note(conversation: string, reference: ConversationReference): Promise<void> {
    await this.#load();
    const { keepMs } = this.#options;
    const text = JSON.stringify(reference);
    const before = this.#noted.get(conversation);
    const now = this.#now();
    if (before?.text === text && now - before.at < keepMs / 2) {
      // It is in use, though nothing is written.
      this.#note(conversation, before);
      return before.writing;
    }
    const writing = this.#write(conversation, text, now);
    // From here on it is the newest, which nobody forgets while it is being written.
    this.#note(conversation, { text, at: now, writing });
    return writing;
  }

  /** Undefined for one that was never noted, or too long ago. */
  async find(conversation: string): Promise<ConversationReference | undefined> {
    const kept = await this.#options.store.get(this.#space, conversation);
    return kept === undefined ? undefined : (JSON.parse(kept.value) as ConversationReference);
  }

  async #write(conversation: string, text: string, at: number): Promise<void> {
    const { store, keepMs } = this.#options;
    try {
      await store.put(this.#space, conversation, text, { ttlMs: keepMs });
    } catch (error) {
      this.#note(conversation, { text: undefined, at });
      throw error;
    }
    const noted = this.#noted.get(conversation);
    if (noted?.text === text && noted.at === at) this.#noted.set(conversation, { text, at });
    await this.#forgetOldest();
  }

  #note(conversation: string, noted: Noted): void {
    this.#noted.delete(conversation);
    this.#noted.set(conversation, noted);
  }

  async #forgetOldest(): Promise<void> {
    while (this.#noted.size > this.#max) {
      const [oldest] = this.#noted.keys();
      if (oldest === undefined) return;
      this.#noted.delete(oldest);
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

  /** Those of an earlier process come before all that are noted now. */
  async #loadKeys(): Promise<void> {
    const keys = await this.#options.store.keys(this.#space);
    for (const key of keys) this.#noted.set(key, { text: undefined, at: 0 });
  }
}
