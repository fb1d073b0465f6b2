// Rows and statements of the delivery table, shared by SQLite and PostgreSQL.

import type { Delivery, DeliveryCounts, Failure } from './delivery.ts';
import { firstNonBlocking, stateCodes, stateOf } from './delivery-states.ts';
import { INBOUND } from './event.ts';

const columnsWith = (answer: string) =>
  `seq, id, key, trace, state, attempts, crashes, at, started, ended, retry_at, trigger, note, ${answer},
  receipt, deferrals, failures, kind, waits_for`;

export const deliveryColumns = columnsWith('answer');
/** Lists contain no answers, because an answer may be as long as a page. */
export const listedColumns = columnsWith('NULL AS answer');

/** Columns that filters compare. */
export const comparedColumns = 'seq, id, key, state, at, trigger';

export const oneDelivery = `SELECT ${deliveryColumns} FROM delivery WHERE id = ?1`;
export const oneListed = `SELECT ${listedColumns} FROM delivery WHERE id = ?1`;

export const bodyOfDelivery = 'SELECT meta, body FROM body WHERE seq = ?1';

/** Counts deliveries per state code, for `countsOf`. */
export const countStates = `SELECT state, count(*) FROM delivery WHERE state < ${firstNonBlocking} GROUP BY state
  UNION ALL SELECT ${stateCodes.dead}, count(*) FROM delivery WHERE state = ${stateCodes.dead}
  UNION ALL SELECT ${stateCodes.waiting}, count(*) FROM delivery WHERE waits_for IS NOT NULL`;

export function countsOf(rows: readonly (readonly [code: number, count: number])[]): DeliveryCounts {
  const counts = { queued: 0, running: 0, retrying: 0, held: 0, waiting: 0, dead: 0 };
  for (const [code, count] of rows) {
    const state = stateOf(code);
    if (state !== 'done' && state !== 'ignored') counts[state] = count;
  }
  return counts;
}

/** `Failures` is the engine's type of the failure list. */
export type DeliveryRow<Failures> = readonly [
  seq: number,
  id: string,
  key: string,
  trace: string,
  state: number,
  attempts: number,
  crashes: number,
  at: number,
  started: number | null,
  ended: number | null,
  retryAt: number | null,
  trigger: string | null,
  note: string | null,
  answer: string | null,
  receipt: string | null,
  deferrals: number,
  failures: Failures | null,
  kind: string | null,
  waitsFor: string | null,
];

/** Throws DamagedRecordError. */
export function deliveryOf<Failures>(
  row: DeliveryRow<Failures>,
  failuresOf: (failures: Failures) => readonly Failure[],
): Delivery {
  const [seq, id, key, trace, state, attempts, crashes, at, started, ended, retryAt, ...others] = row;
  const [trigger, note, answer, receipt, deferrals, failures, kind, waitsFor] = others;
  // `retry_at` of a parked event is the time at which a timer wakes it.
  const isWaiting = waitsFor !== null;
  return {
    seq,
    id,
    key,
    trace,
    kind: kind ?? INBOUND,
    state: stateOf(state),
    attempts,
    crashes,
    receivedAt: at,
    startedAt: started ?? undefined,
    endedAt: ended ?? undefined,
    retryAt: isWaiting ? undefined : (retryAt ?? undefined),
    waitingFor: waitsFor ?? undefined,
    until: isWaiting ? (retryAt ?? undefined) : undefined,
    trigger: trigger ?? undefined,
    note: note ?? undefined,
    answer: answer ?? undefined,
    receipt: receipt ?? undefined,
    deferrals,
    failures: failures === null ? [] : failuresOf(failures),
  };
}
