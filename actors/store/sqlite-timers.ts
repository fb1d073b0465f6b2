// Timers that outlive the process: events that will be appended when they are due. They become deliveries inside a claim,
// so that nothing has to run for them but what runs anyway.

import type { SqliteConnection, Statement } from './sqlite-connection.ts';
import { storable } from './sqlite-connection.ts';
import type { NewEvent, NewTimer } from './store.ts';

export class SqliteTimers {
  readonly #set: Statement<readonly []>;
  readonly #cancel: Statement<readonly []>;
  readonly #due: Statement<readonly [string, string, string, string, string, string, Uint8Array]>;
  readonly #next: Statement<readonly [number]>;

  constructor(connection: SqliteConnection) {
    this.#set = connection.prepare(
      `INSERT INTO timer (owner, name, due, id, key, meta, trace, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (owner, name) DO UPDATE SET due = excluded.due, id = excluded.id, key = excluded.key,
         meta = excluded.meta, trace = excluded.trace, body = excluded.body`,
    );
    this.#cancel = connection.prepare('DELETE FROM timer WHERE owner = ? AND name = ?');
    this.#due = connection.prepare(
      'SELECT owner, name, id, key, meta, trace, body FROM timer WHERE due <= ? ORDER BY due LIMIT ?',
    );
    this.#next = connection.prepare('SELECT due FROM timer WHERE due > ? ORDER BY due LIMIT 1');
  }

  set(owner: string, timer: NewTimer, now: number): void {
    const { id, key, meta, trace, body } = timer.event;
    const due = now + Math.max(0, Math.ceil(timer.inMs));
    const texts = [storable(id), storable(key), storable(meta), storable(trace)];
    this.#set.run([owner, storable(timer.id), due, ...texts, body]);
  }

  cancel(owner: string, name: string): void {
    this.#cancel.run([owner, storable(name)]);
  }

  /** Takes out at most `limit` timers that are due, the longest overdue first. */
  takeDue(now: number, limit: number): readonly NewEvent[] {
    const events: NewEvent[] = [];
    for (const [owner, name, id, key, meta, trace, body] of this.#due.all([now, limit])) {
      this.#cancel.run([owner, name]);
      events.push({ id, key, meta, trace, body });
    }
    return events;
  }

  /** When the next one after that time is due. */
  nextAfter(time: number): number | undefined {
    return this.#next.get([time])?.[0];
  }
}
