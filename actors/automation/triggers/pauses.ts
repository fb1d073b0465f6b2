// The paused triggers. They are kept in the store, since a pause must outlive a restart, and in memory, since every
// event asks for them.
//
// PZ1  one change at a time, in the order in which they were asked for: memory and store never come to differ for good.
// PZ2  what is held by a trigger that is not paused is let go, whatever came first: its resumption, the end of the process
//      in the middle of it, or the commit of what was still judged before it. The latter two may meet: so it is looked
//      for at the start as well.

import type { Store } from '../../store/store.ts';

const SPACE = 'paused';

export class Pauses {
  readonly #names = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  /** To be called once, at the start. */
  async load(store: Store): Promise<void> {
    for (const name of await store.keys(SPACE)) this.#names.add(name);
    for (const name of await store.holders()) await this.onHeld(store, name);
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /**
   * It holds, over restarts too, once it is resolved. Rejected, the trigger goes on as before; where the store was too late
   * to say that it had written it, it is paused from the next start on.
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

  #inTurn(change: () => Promise<void>): Promise<void> {
    const changed = this.#last.then(change);
    this.#last = changed.catch(() => {});
    return changed;
  }
}
