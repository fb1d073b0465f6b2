// Unfinished events of the embedded engine, counted in memory: all, by trigger and by conversation
// (../waiting-shares.ts). They are read when the file is opened and after a failed transaction.

import { firstNonBlocking } from '../delivery-states.ts';
import { addCount, type HolderCounts } from '../holder-counts.ts';
import { triggerHolder } from '../waiting-shares.ts';
import type { CountedEvents } from '../waiting-tally.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

interface Holders {
  readonly trigger: string;
  readonly key: string;
}

export class UnfinishedEvents implements CountedEvents {
  readonly #all: SqliteStatement<readonly [seq: number, id: string, key: string]>;
  /** By number of the event. */
  readonly #holders = new Map<number, Holders>();
  readonly #byTrigger = new Map<string, number>();
  readonly #byConversation = new Map<string, number>();

  constructor(connection: SqliteConnection) {
    this.#all = connection.prepare(`SELECT seq, id, key FROM delivery WHERE state < ${firstNonBlocking}`);
    this.recount();
  }

  get total(): number {
    return this.#holders.size;
  }

  get byTrigger(): HolderCounts {
    return this.#byTrigger;
  }

  get byConversation(): HolderCounts {
    return this.#byConversation;
  }

  recount(): void {
    for (const each of [this.#holders, this.#byTrigger, this.#byConversation]) each.clear();
    for (const [seq, id, key] of this.#all.all([])) this.add(seq, { id, key });
  }

  add(seq: number, event: { readonly id: string; readonly key: string }): void {
    this.delete(seq);
    const { key } = event;
    const trigger = triggerHolder(event);
    this.#holders.set(seq, { trigger, key });
    addCount(this.#byTrigger, trigger, 1);
    addCount(this.#byConversation, key, 1);
  }

  delete(seq: number): void {
    const holders = this.#holders.get(seq);
    if (holders === undefined) return;
    this.#holders.delete(seq);
    addCount(this.#byTrigger, holders.trigger, -1);
    addCount(this.#byConversation, holders.key, -1);
  }
}
