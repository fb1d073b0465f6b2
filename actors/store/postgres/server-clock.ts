// Detects clock steps of the database server; the server's clock decides due dates and expiry. A node
// compares the server's clock with the local monotonic clock. At each step, it moves the expiry of
// memberships, leases and claims by the same amount, so that they keep their durations. Due dates of retries
// and timers are moved at backward steps only: their pauses become shorter at a forward step, never longer.
//
// A suspended node or a late response is not mistaken for a step: the server read its clock between request
// and response, and only a difference outside this interval counts. If the size of a step is uncertain,
// memberships become longer rather than shorter.

import { approvalStates } from '../approval-row.ts';
import { firstNonBlocking } from '../delivery-states.ts';
import { CLOCK_SHIFT, CLOCK_SPACE } from '../steady-clock.ts';
import { statement, type Transaction } from './database.ts';

/** Smaller clock steps are ignored. */
const CLOCK_STEP_MS = 1_000;
/** Maximum round trip of an accurate reading. A slower reading does not replace an accurate one. */
const ACCURATE_MS = 200;

const columns = `at, sets, coalesce((SELECT value FROM kv WHERE space = '${CLOCK_SPACE}' AND key = '${CLOCK_SHIFT}'), '0')`;
type ClockRow = readonly [at: number, corrections: number, shiftMs: string];
const readClock = statement<ClockRow>(`SELECT ${columns} FROM clock`);
const lockClock = statement<ClockRow>(`SELECT ${columns} FROM clock FOR UPDATE`);
const recordStep = statement('UPDATE clock SET at = $1, sets = sets + 1');
/** Skips the update if another transaction has locked the row to do the same. */
const recordTime = statement(
  'UPDATE clock SET at = $1 FROM (SELECT ctid FROM clock FOR UPDATE SKIP LOCKED) AS free WHERE clock.ctid = free.ctid',
);
/** Timestamps to move at every step. At a step forward, pauses are not moved and therefore become shorter. */
const movesAlways = [
  'UPDATE node SET until = until + $1 WHERE until > 0',
  'UPDATE lease SET until = until + $1',
  'UPDATE mailbox SET ready_at = ready_at + $1 WHERE fence IS NOT NULL',
].map((text) => statement(text));
const movesBackward = [
  'UPDATE mailbox SET ready_at = ready_at + $1 WHERE fence IS NULL AND ready_at IS NOT NULL',
  `UPDATE delivery SET retry_at = retry_at + $1 WHERE state < ${firstNonBlocking} AND retry_at IS NOT NULL`,
  'UPDATE delivery SET retry_at = retry_at + $1 WHERE waits_for IS NOT NULL AND retry_at IS NOT NULL',
  'UPDATE timer SET due = due + $1',
  `UPDATE approval SET expires = expires + $1 WHERE state = ${approvalStates.pending} AND expires IS NOT NULL`,
  'UPDATE kv SET until = until + $1 WHERE until IS NOT NULL',
  // The sum of these steps, for durations across them (store.ts, `steady`).
  `INSERT INTO kv (space, key, value, version) VALUES ('${CLOCK_SPACE}', '${CLOCK_SHIFT}', $1::bigint::text, nextval('counter'))
   ON CONFLICT (space, key) DO UPDATE SET value = (kv.value::bigint + $1::bigint)::text, version = excluded.version`,
].map((text) => statement(text));

/** Times of the request and response of a reading, by the local monotonic clock. */
export interface ReadingTimes {
  readonly requestedMs: number;
  readonly answeredMs: number;
}

/** Last reading of the server's clock by this node. */
export interface ClockReading extends ReadingTimes {
  readonly at: number;
  /** Number of steps that nodes have corrected (column `sets`). */
  readonly corrections: number;
  /** Sum of the backward steps, in milliseconds. */
  readonly shiftMs: number;
}

/**
 * Records the server's clock, and moves stored timestamps at a clock step. `previous` is the result of the
 * last call. Without a step, it locks no row that other nodes need: this node may be suspended while it holds
 * the lock.
 */
export async function followServerClock(
  transaction: Transaction,
  previous: ClockReading | undefined,
  times: ReadingTimes,
): Promise<ClockReading> {
  const { now } = transaction;
  const stepFrom = (rows: readonly ClockRow[]) => {
    const [recordedAt, corrections, shift] = rows[0] ?? [0, 0, '0'];
    const reading = { at: now, corrections, shiftMs: Number(shift), ...times };
    return { reading, byMs: stepOf(recordedAt, previous, reading) };
  };
  const { byMs, reading } = stepFrom(await transaction.rows(readClock));
  if (byMs === 0) {
    await transaction.run(recordTime, [now]);
    return moreAccurate(previous, reading);
  }
  // Several nodes may detect a step; the first node corrects it.
  const lockedStep = stepFrom(await transaction.rows(lockClock));
  if (lockedStep.byMs !== 0) {
    for (const move of movesAlways) await transaction.run(move, [lockedStep.byMs]);
    if (lockedStep.byMs < 0) for (const move of movesBackward) await transaction.run(move, [lockedStep.byMs]);
    await transaction.run(recordStep, [now]);
  }
  const { corrections, shiftMs } = lockedStep.reading;
  return {
    ...lockedStep.reading,
    corrections: corrections + (lockedStep.byMs === 0 ? 0 : 1),
    shiftMs: shiftMs + Math.min(0, lockedStep.byMs),
  };
}

/** Returns the size of a step that no node has corrected yet; 0 if there is none. */
export function stepOf(
  recordedAt: number,
  previous: ClockReading | undefined,
  reading: ClockReading,
): number {
  const { at, corrections, requestedMs, answeredMs } = reading;
  // Without a previous reading, only a backward step is detectable: the downtime is unknown.
  if (previous === undefined || previous.corrections !== corrections)
    return at < recordedAt - CLOCK_STEP_MS ? at - recordedAt : 0;
  const passedMs = at - previous.at;
  const minMs = requestedMs - previous.answeredMs;
  const maxMs = answeredMs - previous.requestedMs;
  const isStep = passedMs > maxMs + CLOCK_STEP_MS || passedMs < minMs - CLOCK_STEP_MS;
  return isStep ? Math.round(passedMs - minMs) : 0;
}

/** Returns the reading for the next comparison. */
export function moreAccurate(previous: ClockReading | undefined, reading: ClockReading): ClockReading {
  const isAccurate = reading.answeredMs - reading.requestedMs <= ACCURATE_MS;
  return isAccurate || previous === undefined || previous.corrections !== reading.corrections
    ? reading
    : previous;
}
