// A row of the table of deliveries, which both engines have with the same columns, and the delivery that is made of it.

import type { Delivery, Failure } from './delivery.ts';
import { stateOf } from './delivery-states.ts';
import { INBOUND } from './event.ts';

export const deliveryColumns = `seq, id, key, trace, state, attempts, crashes, at, started, ended, retry_at, trigger, note, answer,
  receipt, deferrals, failures, kind, waits_for`;

/** What a filter may be about. */
export const comparedColumns = 'seq, id, key, state, at, trigger';

/** `Failures` is what the engine gives of a list. */
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
  const [seq, id, key, trace, state, attempts, crashes, at, started, ended, retryAt, ...texts] = row;
  const [trigger, note, answer, receipt, deferrals, failures, kind, waitsFor] = texts;
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
