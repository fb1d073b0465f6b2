// Durable timers: events that are appended when they are due. The next claim appends them, so no timer of the process is needed.

import type { NewEvent } from '../event.ts';
import { storable } from '../record-texts.ts';
import type { NewTimer } from '../store.ts';
import { setTimer, timerValues } from '../timer-row.ts';
import type { SqliteConnection, Statement } from './connection.ts';

export class SqliteTimers {
  readonly #set: Statement<readonly []>;
  readonly #cancel: Statement<readonly []>;
  readonly #due: Statement<
    readonly [string, string, string, string, string, string, Uint8Array, string | null, string | null]
  >;
  readonly #firstThatWakes: Statement<readonly [number | null]>;
  readonly #cancelThatWake: Statement<readonly []>;
  readonly #next: Statement<readonly [number]>;

  constructor(connection: SqliteConnection) {
    this.#set = connection.prepare(setTimer);
    this.#cancel = connection.prepare('DELETE FROM timer WHERE owner = ? AND name = ?');
    this.#due = connection.prepare(
      'SELECT owner, name, id, key, meta, trace, body, kind, wakes FROM timer WHERE due <= ? ORDER BY due LIMIT ?',
    );
    this.#firstThatWakes = connection.prepare(
      'SELECT min(due) FROM timer WHERE owner = ? AND key = owner AND wakes = ?',
    );
    this.#cancelThatWake = connection.prepare(
      'DELETE FROM timer WHERE owner = ? AND key = owner AND wakes = ?',
    );
    this.#next = connection.prepare('SELECT due FROM timer WHERE due > ? ORDER BY due LIMIT 1');
  }

  set(owner: string, timer: NewTimer, now: number): void {
    this.#set.run(timerValues(owner, timer, now));
  }

  /** When the first of the mailbox's own timers is due that wakes that name. */
  firstThatWakes(owner: string, name: string): number | undefined {
    return this.#firstThatWakes.get([owner, storable(name)])?.[0] ?? undefined;
  }

  cancelThatWake(owner: string, name: string): void {
    this.#cancelThatWake.run([owner, storable(name)]);
  }

  cancel(owner: string, name: string): void {
    this.#cancel.run([owner, storable(name)]);
  }

  /** Takes out at most `limit` timers that are due, the longest overdue first. */
  takeDue(now: number, limit: number): readonly NewEvent[] {
    const events: NewEvent[] = [];
    for (const row of this.#due.all([now, limit])) {
      const [owner, name, id, key, meta, trace, body, kind, wakes] = row;
      this.#cancel.run([owner, name]);
      events.push({ id, key, meta, trace, body, kind: kind ?? undefined, wakes: wakes ?? undefined });
    }
    return events;
  }

  /** When the next one after that time is due. */
  nextAfter(time: number): number | undefined {
    return this.#next.get([time])?.[0];
  }
}
