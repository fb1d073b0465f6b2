// Durable timers: events that are appended when due. The next `claim` appends them, so there is no timer in
// the process.

import type { NewEvent } from '../event.ts';
import { toStorableText } from '../record-texts.ts';
import type { NewTimer } from '../store.ts';
import { setTimer, timerValues } from '../timer-row.ts';
import type { SqliteConnection, SqliteStatement } from './connection.ts';

export class SqliteTimers {
  readonly #set: SqliteStatement<readonly []>;
  readonly #cancel: SqliteStatement<readonly []>;
  readonly #due: SqliteStatement<
    readonly [string, string, string, string, string, string, Uint8Array, string | null, string | null]
  >;
  readonly #firstThatWakes: SqliteStatement<readonly [number | null]>;
  readonly #cancelThatWake: SqliteStatement<readonly []>;
  readonly #next: SqliteStatement<readonly [number]>;

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

  /** Returns the earliest due date of the mailbox's timers that wake the name. */
  firstThatWakes(owner: string, name: string): number | undefined {
    return this.#firstThatWakes.get([owner, toStorableText(name)])?.[0] ?? undefined;
  }

  cancelThatWake(owner: string, name: string): void {
    this.#cancelThatWake.run([owner, toStorableText(name)]);
  }

  cancel(owner: string, name: string): void {
    this.#cancel.run([owner, toStorableText(name)]);
  }

  /** Removes up to `limit` due timers, longest overdue first, and returns their events. */
  takeDue(now: number, limit: number): readonly NewEvent[] {
    const events: NewEvent[] = [];
    for (const row of this.#due.all([now, limit])) {
      const [owner, name, id, key, meta, trace, body, kind, wakes] = row;
      this.#cancel.run([owner, name]);
      events.push({ id, key, meta, trace, body, kind: kind ?? undefined, wakes: wakes ?? undefined });
    }
    return events;
  }

  /** Returns the next due time after `time`. */
  nextAfter(time: number): number | undefined {
    return this.#next.get([time])?.[0];
  }
}
