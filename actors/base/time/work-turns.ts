// Turns for tasks that block the event loop for some milliseconds each. Many of them would stall it if they
// became ready together, for example at the end of a run with many watchers.

import { setImmediate as nextTurn } from 'node:timers/promises';

export class WorkTurns {
  #last: Promise<unknown> = Promise.resolve();

  /**
   * Runs one task at a time, in order; other work runs between two tasks. Tasks must end soon. Rejects like
   * the task.
   */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#last.then(() => nextTurn()).then(task);
    this.#last = result.catch(() => {});
    return result;
  }
}
