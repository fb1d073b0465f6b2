// The server's clock decides what is due and what is over, and may be set. A node compares each reading with the one before, and with its own
// clock, which only grows.
//
// PGN3  time by which the server's clock was set has not passed: no membership, claim or pause ends or grows by it.
// PSC1  a node that stood still, or was answered late, takes that for no set clock: it knows between which instants of its own clock a
//       reading was made, and what fits into these was not set.
// PSC2  where the amount is uncertain, memberships are made too long rather than too short.

import { statement, type Transaction } from './database.ts';

/** A clock that is set by less is not noticed. */
const CLOCK_STEP_MS = 1_000;
/** A reading that took longer replaces no better one, by which what it leaves open is found out later. */
const SHARP_MS = 200;

const readClock = statement<readonly [at: number, sets: number]>('SELECT at, sets FROM clock');
const holdClock = statement<readonly [at: number, sets: number]>('SELECT at, sets FROM clock FOR UPDATE');
const noteSet = statement('UPDATE clock SET at = $1, sets = sets + 1');
/** While another one has the row, that notes the time. */
const noteTime = statement(
  'UPDATE clock SET at = $1 FROM (SELECT ctid FROM clock FOR UPDATE SKIP LOCKED) AS free WHERE clock.ctid = free.ctid',
);
/** Set forward, what waits is due when the clock says so; a membership, a claim or a lease is not over by it. */
const movesForward = [
  'UPDATE node SET until = until + $1 WHERE until > 0',
  'UPDATE lease SET until = until + $1',
  'UPDATE mailbox SET ready_at = ready_at + $1 WHERE fence IS NOT NULL',
].map((text) => statement(text));
const movesBack = [
  'UPDATE mailbox SET ready_at = ready_at + $1 WHERE fence IS NULL AND ready_at IS NOT NULL',
  'UPDATE delivery SET retry_at = retry_at + $1 WHERE state < 4 AND retry_at IS NOT NULL',
  'UPDATE delivery SET retry_at = retry_at + $1 WHERE waits_for IS NOT NULL AND retry_at IS NOT NULL',
  'UPDATE timer SET due = due + $1',
  'UPDATE approval SET expires = expires + $1 WHERE state = 0 AND expires IS NOT NULL',
  'UPDATE kv SET until = until + $1 WHERE until IS NOT NULL',
].map((text) => statement(text));

/** When a reading was asked for and answered, by a clock of this process that only grows. */
export interface Asked {
  readonly askedMs: number;
  readonly answeredMs: number;
}

/** What the clock said when this node last looked. */
export interface ClockSeen extends Asked {
  readonly at: number;
  readonly sets: number;
}

/**
 * Notes the server's time, and moves what is due where that was set; `seen` is what this gave before. Holds nothing that another node
 * waits for, unless the clock was set: whoever does may stand still with it.
 */
export async function keepTime(
  transaction: Transaction,
  seen: ClockSeen | undefined,
  asked: Asked,
): Promise<ClockSeen> {
  const { now } = transaction;
  const setMs = ([[noted, sets] = [0, 0]]: readonly (readonly [number, number])[]) => ({
    sets,
    byMs: setBy(noted, seen, { at: now, sets, ...asked }),
  });
  const { byMs, sets } = setMs(await transaction.rows(readClock));
  if (byMs === 0) {
    await transaction.run(noteTime, [now]);
    return sharper(seen, { at: now, sets, ...asked });
  }
  // Several may have seen it: the first puts it right.
  const found = setMs(await transaction.rows(holdClock));
  if (found.byMs !== 0) {
    for (const move of movesForward) await transaction.run(move, [found.byMs]);
    if (found.byMs < 0) for (const move of movesBack) await transaction.run(move, [found.byMs]);
    await transaction.run(noteSet, [now]);
  }
  return { at: now, sets: found.sets + (found.byMs === 0 ? 0 : 1), ...asked };
}

/** By how much the clock was set, where nobody has put that right yet. */
export function setBy(noted: number, seen: ClockSeen | undefined, reading: ClockSeen): number {
  const { at, sets, askedMs, answeredMs } = reading;
  // It says less than what has been there before, and nobody knows how long nothing ran.
  if (seen === undefined || seen.sets !== sets) return at < noted - CLOCK_STEP_MS ? at - noted : 0;
  const passedMs = at - seen.at;
  const leastMs = askedMs - seen.answeredMs;
  const mostMs = answeredMs - seen.askedMs;
  const isSet = passedMs > mostMs + CLOCK_STEP_MS || passedMs < leastMs - CLOCK_STEP_MS;
  return isSet ? Math.round(passedMs - leastMs) : 0;
}

/** The reading to compare the next one with. */
export function sharper(seen: ClockSeen | undefined, reading: ClockSeen): ClockSeen {
  const isSharp = reading.answeredMs - reading.askedMs <= SHARP_MS;
  return isSharp || seen === undefined || seen.sets !== reading.sets ? reading : seen;
}
