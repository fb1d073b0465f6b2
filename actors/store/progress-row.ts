// Rows and statements for checkpoints, parked events and wakers (events that wake them), shared by SQLite and
// PostgreSQL. A waker is copied into the row of the event it woke, since its record may be deleted earlier.

import { stateCodes } from './delivery-states.ts';
import type { StoredEvent } from './event.ts';

/** Fields that most stored events do not have. */
export type Extras = Pick<StoredEvent, 'kind' | 'wakes' | 'state' | 'woken' | 'steps'>;

export type ExtrasRow = readonly [
  seq: number,
  kind: string | null,
  wakes: string | null,
  state: string | null,
  wokenId: string | null,
  wokenKind: string | null,
  wokenMeta: string | null,
  wokenBody: Uint8Array | null,
  steps: number | null,
];

/** Query for the extras. The caller appends the condition for the sequence number. */
export const selectExtras = `SELECT delivery.seq, delivery.kind, wakes, progress.state, woken_id, woken_kind, woken_meta, woken_body,
    (SELECT max(n) FROM step WHERE step.seq = delivery.seq)
  FROM delivery LEFT JOIN progress ON progress.seq = delivery.seq WHERE delivery.seq`;

export const setState =
  'INSERT INTO progress (seq, state) VALUES (?1, ?2) ON CONFLICT (seq) DO UPDATE SET state = excluded.state';

export const removeWaker =
  'UPDATE progress SET woken_id = NULL, woken_kind = NULL, woken_meta = NULL, woken_body = NULL WHERE seq = ?1';

export const copyWaker = `INSERT INTO progress (seq, woken_id, woken_kind, woken_meta, woken_body)
  SELECT ?1, id, coalesce(kind, 'inbound'), meta, body FROM delivery JOIN body ON body.seq = delivery.seq
  WHERE delivery.seq = ?2
  ON CONFLICT (seq) DO UPDATE SET woken_id = excluded.woken_id, woken_kind = excluded.woken_kind,
    woken_meta = excluded.woken_meta, woken_body = excluded.woken_body`;

export const noteCheckpoint = `UPDATE delivery SET has_progress = true, attempts = CASE WHEN ?2 THEN crashes + 1 ELSE attempts END,
    trigger = coalesce(?3, trigger), note = coalesce(?4, note) WHERE seq = ?1 RETURNING attempts`;

/**
 * Keeps the crash count: otherwise an event that crashes the process could avoid the crash limit by parking.
 */
export const parkEvent = `UPDATE delivery SET state = ${stateCodes.waiting}, waits_for = ?2, holds_key = ?3, has_progress = true,
    attempts = crashes, held_by = NULL, retry_at = NULL, trigger = coalesce(?4, trigger), note = ?5, target = ?6
  WHERE seq = ?1`;

/** Kind and name of the event's run. */
export const runTarget = 'SELECT kind, name FROM run WHERE seq = ?1';

/** First queued waker for a name. */
export const firstWaker = `SELECT seq FROM delivery INDEXED BY delivery_waker
  WHERE key = ?1 AND wakes = ?2 AND wakes IS NOT NULL AND state < ${stateCodes.dead} ORDER BY seq LIMIT 1`;

export function extrasOf(row: ExtrasRow): Extras {
  const [, kind, wakes, state, id, wokenKind, meta, body, steps] = row;
  return {
    kind: kind ?? undefined,
    wakes: wakes ?? undefined,
    state: state ?? undefined,
    woken:
      id === null
        ? undefined
        : { id, kind: wokenKind ?? '', meta: meta ?? '', body: body ?? new Uint8Array() },
    steps: steps ?? undefined,
  };
}
