// Rows and statements of the timer table, shared by SQLite and PostgreSQL.

import { toStorableText } from './record-texts.ts';
import type { NewTimer } from './store.ts';

/** Inserts or replaces a timer. */
export const setTimer = `INSERT INTO timer (owner, name, due, id, key, meta, trace, body, kind, wakes)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
  ON CONFLICT (owner, name) DO UPDATE SET due = excluded.due, id = excluded.id, key = excluded.key, meta = excluded.meta,
    trace = excluded.trace, body = excluded.body, kind = excluded.kind, wakes = excluded.wakes`;

/** Returns the values of `setTimer`. */
export function timerValues(owner: string, timer: NewTimer, now: number) {
  const { id, key, meta, trace, body, kind, wakes } = timer.event;
  const due = now + Math.max(0, Math.ceil(timer.inMs));
  const texts = [id, key, meta, trace].map(toStorableText);
  const envelope = [kind, wakes].map((word) => (word === undefined ? null : toStorableText(word)));
  return [owner, toStorableText(timer.id), due, ...texts, Buffer.from(body), ...envelope];
}
