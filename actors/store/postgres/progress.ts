// What few events have beside their record: the state kept of one along its way, the event that woke it last, how far its journal goes.
//
// The event that woke another one is copied: the retention of its own record may end first.

import type { StoredEvent } from '../event.ts';
import { storable } from '../storable.ts';
import { statement, type Transaction } from './database.ts';

/** What a stored event has that most events have not. */
export type Extras = Pick<StoredEvent, 'kind' | 'wakes' | 'state' | 'woken' | 'steps'>;

const extras = statement<
  readonly [
    seq: number,
    kind: string | null,
    wakes: string | null,
    state: string | null,
    wokenId: string | null,
    wokenKind: string | null,
    wokenMeta: string | null,
    wokenBody: Uint8Array | null,
    steps: number | null,
  ]
>(
  `SELECT delivery.seq, delivery.kind, wakes, progress.state, woken_id, woken_kind, woken_meta, woken_body,
     (SELECT max(n) FROM step WHERE step.seq = delivery.seq)
   FROM delivery LEFT JOIN progress ON progress.seq = delivery.seq WHERE delivery.seq = ANY ($1)`,
);
const stateOf = statement<readonly [string | null]>('SELECT state FROM progress WHERE seq = $1');
const keep = statement(
  'INSERT INTO progress (seq, state) VALUES ($1, $2) ON CONFLICT (seq) DO UPDATE SET state = excluded.state',
);
const forget = statement('DELETE FROM progress WHERE seq = $1');
const forgetWoken = statement(
  'UPDATE progress SET woken_id = NULL, woken_kind = NULL, woken_meta = NULL, woken_body = NULL WHERE seq = $1',
);
const copyWaker = statement(
  `INSERT INTO progress (seq, woken_id, woken_kind, woken_meta, woken_body)
   SELECT $1, id, coalesce(kind, 'inbound'), meta, body FROM delivery JOIN body ON body.seq = delivery.seq
   WHERE delivery.seq = $2
   ON CONFLICT (seq) DO UPDATE SET woken_id = excluded.woken_id, woken_kind = excluded.woken_kind,
     woken_meta = excluded.woken_meta, woken_body = excluded.woken_body`,
);

export async function extrasOf(
  transaction: Transaction,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, Extras>> {
  if (seqs.length === 0) return new Map();
  const rows = await transaction.rows(extras, [seqs]);
  return new Map(
    rows.map(([seq, kind, wakes, state, id, wokenKind, meta, body, steps]) => [
      seq,
      {
        kind: kind ?? undefined,
        wakes: wakes ?? undefined,
        state: state ?? undefined,
        woken:
          id === null
            ? undefined
            : { id, kind: wokenKind ?? '', meta: meta ?? '', body: body ?? new Uint8Array() },
        steps: steps ?? undefined,
      },
    ]),
  );
}

/** Undefined leaves it as it is, null removes it. Gives whether it was another one before. */
export async function keepState(
  transaction: Transaction,
  seq: number,
  state: string | null | undefined,
): Promise<boolean> {
  if (state === undefined) return false;
  const kept = state === null ? null : storable(state);
  const [before] = await transaction.rows(stateOf, [seq]);
  if (before !== undefined && before[0] === kept) return false;
  await transaction.run(keep, [seq, kept]);
  return kept !== (before?.[0] ?? null);
}

export async function forgetWaker(transaction: Transaction, seq: number): Promise<void> {
  await transaction.run(forgetWoken, [seq]);
}

export async function keepWaker(transaction: Transaction, seq: number, waker: number): Promise<void> {
  await transaction.run(copyWaker, [seq, waker]);
}

/** What was kept of it is forgotten: it begins anew. */
export async function forgetProgress(transaction: Transaction, seq: number): Promise<void> {
  await transaction.run(forget, [seq]);
}
