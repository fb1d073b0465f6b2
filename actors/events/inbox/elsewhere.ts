// What becomes of events that other nodes handle, for those who wait for them here or watch them: looked for in the store, all of
// them in one statement, and only while there is anybody. What happens in this process is told without it.
//
// ELS1  an end, or a park, on another node is told within two looks; one that was told here is not told again.
// ELS2  what stood so already when somebody began to wait is told when it is found so twice: the event may be about to run again.
// ELS3  one look at a time; while nobody waits for anything the store is not asked.

import type { Log } from '../../base/errors/log.ts';
import type { Standing, Store } from '../../store/store.ts';
import type { Settled } from './settled.ts';

export interface ElsewhereHost {
  readonly store: Pick<Store, 'delivery'> & Required<Pick<Store, 'standings'>>;
  readonly log: Log;
  /** Of whom anybody wants to know, each once. */
  awaited(): Iterable<string>;
  onSettled(id: string, settled: Settled): void;
  /** An attempt is over, and the event comes again. */
  onPutOff(id: string): void;
  onBegun(id: string): void;
  /** Its journal has so many rows now. */
  onRows(id: string, count: number): void;
}

interface Seen extends Standing {
  /** Its end, or park, has been told. */
  isTold: boolean;
}

const LOOK_MS = 200;
const ends: ReadonlySet<string> = new Set(['done', 'dead', 'ignored', 'waiting']);
const putOffs: ReadonlySet<string> = new Set(['retrying', 'held', 'queued']);

export class Elsewhere {
  readonly #host: ElsewhereHost;
  /** Of those that are awaited. */
  #seen = new Map<string, Seen>();
  #isLooking = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(host: ElsewhereHost) {
    this.#host = host;
  }

  begin(): void {
    this.#timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** It was told here. */
  told(id: string, state: Settled['state']): void {
    const seen = this.#seen.get(id);
    if (seen !== undefined) this.#seen.set(id, { ...seen, state, isTold: true });
  }

  /** Never rejects. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    const ids = new Set(this.#host.awaited());
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    if (ids.size === 0) return;
    this.#isLooking = true;
    try {
      for (const standing of await this.#host.store.standings([...ids])) await this.#judge(standing);
    } catch (error) {
      // Whoever waits has a deadline; it is looked for again.
      this.#host.log.debug(
        { reason: (error as Error).message },
        'events on other nodes cannot be looked for',
      );
    } finally {
      this.#isLooking = false;
    }
  }

  async #judge(now: Standing): Promise<void> {
    const { id, state, steps } = now;
    const before = this.#seen.get(id);
    const hasChanged = before?.state !== state || before.attempts !== now.attempts;
    const isEnd = ends.has(state);
    this.#seen.set(id, { ...now, isTold: isEnd && !hasChanged && before?.isTold === true });
    if (steps > (before?.steps ?? 0)) this.#host.onRows(id, steps);
    if (isEnd) {
      // Twice, where nobody has seen how it came to that.
      const isNew = before === undefined;
      if (!isNew && (hasChanged || !before.isTold)) await this.#settle(id);
    } else if (hasChanged && state === 'running') this.#host.onBegun(id);
    else if (hasChanged && before !== undefined && putOffs.has(state)) this.#host.onPutOff(id);
  }

  async #settle(id: string): Promise<void> {
    const found = await this.#host.store.delivery(id);
    const seen = this.#seen.get(id);
    if (found === undefined || seen === undefined || seen.isTold) return;
    const { state, answer, note, waitingFor, until } = found;
    if (state !== 'done' && state !== 'dead' && state !== 'ignored' && state !== 'waiting') return;
    seen.isTold = true;
    this.#host.onSettled(id, { state, answer, note, waitingFor, until });
  }
}
