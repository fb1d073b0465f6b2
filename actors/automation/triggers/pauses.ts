// The paused triggers. They are kept in the store, since a pause must outlive a restart, and in memory, since every
// event asks for them.
//
// PZ1  one change at a time, in the order in which they were asked for: memory and store never come to differ for good.
// PZ2  what is held by a trigger that is not paused is let go, whatever came first: its resumption, the end of the process
//      in the middle of it, or the commit of what was still judged before it. The latter two may meet: so it is looked
//      for at the start as well.
// PZ3  where the store is shared it decides: what another node has paused or resumed holds here once it was read, and what was held here
//      after the resumption is let go.

import type { Store } from '../../store/store.ts';

const SPACE = 'paused';

/** Names, of what another node has changed. */
export interface PauseChanges {
  readonly paused: readonly string[];
  readonly resumed: readonly string[];
}

export class Pauses {
  readonly #names = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  /** To be called once, at the start. */
  async load(store: Store): Promise<void> {
    for (const name of await store.keys(SPACE)) this.#names.add(name);
    for (const name of await store.holders()) await this.onHeld(store, name);
  }

  /** As the store has them now. Rejects where that does not answer, and then what it had not yet told is told by the next. */
  follow(store: Store): Promise<PauseChanges> {
    return this.#inTurn(async () => {
      const kept = new Set(await store.keys(SPACE));
      const paused = [...kept].filter((name) => !this.#names.has(name));
      const resumed = [...this.#names].filter((name) => !kept.has(name));
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
   * It holds, over restarts too, once it is resolved. Rejected, the trigger goes on as before; where the store was too late
   * to say that it had written it, it is paused from the next start on, or from when that is read (PZ3).
   */
  pause(store: Store, name: string): Promise<void> {
    return this.#inTurn(async () => {
      await store.put(SPACE, name, new Date().toISOString());
      this.#names.add(name);
    });
  }

  /** What was held goes on when it is resolved; rejected, the trigger is paused as before. */
  resume(store: Store, name: string): Promise<void> {
    return this.#inTurn(async () => {
      const wasPaused = this.#names.delete(name);
      try {
        await store.release(name);
        // Last: whoever ends in between is paused still, and nothing is held for ever by a pause that is gone.
        await store.delete(SPACE, name);
      } catch (error) {
        if (wasPaused) this.#names.add(name);
        throw error;
      }
    });
  }

  /** An event is held by that name now; it was judged a while ago. */
  async onHeld(store: Store, name: string): Promise<void> {
    if (!this.#names.has(name)) await store.release(name);
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#last.then(change);
    this.#last = changed.catch(() => {});
    return changed;
  }
}
