// The paused triggers: in the store, so that pauses survive restarts, and in memory, because every event
// checks them. Changes are applied sequentially, so memory and store stay consistent. Events of a paused
// trigger are held. A resume releases them; the start and `onHeld` release held events whose trigger is not
// paused, for example if the process crashed during a resume. In a shared store the stored state counts:
// remote changes apply with the next read, which also releases the events of resumed triggers.

import type { Store } from '../../store/store.ts';

/** Key space of the pauses in the store; the key is the name of the trigger. */
const SPACE = 'paused';

/** Trigger names changed by remote nodes. */
export interface PauseChanges {
  readonly paused: readonly string[];
  readonly resumed: readonly string[];
}

export class Pauses {
  readonly #names = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  /** Reads the pauses; must be called once, at the start. */
  async load(store: Store): Promise<void> {
    for (const name of await store.keys(SPACE)) this.#names.add(name);
    // `holders` returns the names of the triggers with held events.
    for (const name of await store.holders()) await this.onHeld(store, name);
  }

  /**
   * Reads the store and returns the changes of other nodes. Rejects if the store is unavailable; the next
   * call returns the remaining changes.
   */
  follow(store: Store): Promise<PauseChanges> {
    return this.#enqueue(async () => {
      const storedNames = new Set(await store.keys(SPACE));
      const paused = [...storedNames].filter((name) => !this.#names.has(name));
      const resumed = [...this.#names].filter((name) => !storedNames.has(name));
      for (const name of paused) this.#names.add(name);
      for (const name of resumed) {
        this.#names.delete(name);
        try {
          await store.release(name);
        } catch (error) {
          this.#names.add(name);
          throw error;
        }
      }
      return { paused, resumed };
    });
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /**
   * Resolves when the pause is durable. If it rejects, the trigger usually continues unchanged. The exception
   * is a store that committed the pause without a response: the pause applies after the next read or start.
   */
  pause(store: Store, name: string): Promise<void> {
    return this.#enqueue(async () => {
      await store.put(SPACE, name, new Date().toISOString());
      this.#names.add(name);
    });
  }

  /** Resolves when all deliveries are released. If it rejects, nothing has changed. */
  resume(store: Store, name: string): Promise<void> {
    return this.#enqueue(async () => {
      const wasPaused = this.#names.delete(name);
      try {
        await store.release(name);
        // Deleted last, so that the trigger is still paused if the process crashes before this line.
        await store.delete(SPACE, name);
      } catch (error) {
        if (wasPaused) this.#names.add(name);
        throw error;
      }
    });
  }

  /** Called when events of the trigger are held. Releases them unless the trigger is paused. */
  async onHeld(store: Store, name: string): Promise<void> {
    if (!this.#names.has(name)) await store.release(name);
  }

  #enqueue<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#last.then(change);
    this.#last = result.catch(() => {});
    return result;
  }
}
