// Adds to the result of a turn what whoever sent the event is told: that it ends without an answer, or that it waits for longer
// than a moment. It goes with the same commit, so that nobody waits for an answer that does not come, however the attempts ended.
// What an operator ends between two turns says so with the commit of that.
//
// NOT1  that it waits is told at most once, and so is its end: the rows have ids that do not change, and the store takes each
//       once.
// NOT2  of an event that waits for somebody else to let it go nothing is said before it has waited so long; a timer of the
//       store keeps that, and is taken back with the end of the event. Another one ends it, where nobody wants it any more
//       after some time, so that what comes after it is told in time as well.

import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { TurnResult } from '../../store/store.ts';
import type { Effects, Notice, Work } from './work.ts';

/** What people take for a moment. */
const MOMENT_MS = 3_000;

/** What the outcome of the turn says of that. */
export interface ToBeTold {
  /** How it ends without an answer. */
  readonly ending?: Notice | undefined;
  /** See `Outcome`. */
  readonly notAfter?: number | undefined;
}

/** `now` is epoch ms. Throws what the work throws. */
export function withNotice(
  result: TurnResult,
  event: StoredEvent,
  work: Work,
  now: number,
  { ending, notAfter }: ToBeTold = {},
): TurnResult {
  if (work.notice === undefined) return result;
  switch (result.outcome) {
    case 'dead':
      return withoutTimer(withRows(result, work.notice(event, ending ?? 'failed', result.trigger)), event);
    case 'done':
    case 'ignored': {
      const rows = ending === undefined ? [] : work.notice(event, ending, result.trigger);
      return withoutTimer(withRows(result, rows), event);
    }
    case 'retrying':
    case 'deferred':
      return (result.retryInMs ?? 0) < MOMENT_MS
        ? result
        : withRows(result, work.notice(event, 'waits', result.trigger));
    case 'held':
    case 'queued': {
      if (result.heldBy === undefined) return result;
      const rows = work.notice(event, 'waits', result.trigger);
      const waits = withTimer(result, timerOf(event), rows, momentLeft(event, now));
      if (notAfter === undefined) return waits;
      const inMs = Math.max(0, Math.min(notAfter - now, notAfter - event.at));
      const ending = work.overdue?.(event);
      return withTimer(waits, lateTimerOf(event), ending === undefined ? [] : [ending], inMs);
    }
    default:
      return result;
  }
}

/** What goes with the end of an event that an operator discards; `trigger` has taken it. Throws what the work throws. */
export function discardEffects(
  event: StoredEvent,
  work: Work,
  trigger: string | undefined,
): Pick<Effects, 'emit' | 'cancelTimers'> {
  if (work.notice === undefined) return {};
  return { emit: work.notice(event, 'stopped', trigger), cancelTimers: timersOf(event) };
}

function withRows(result: TurnResult, rows: readonly NewEvent[]): TurnResult {
  return rows.length === 0 ? result : { ...result, emit: [...(result.emit ?? []), ...rows] };
}

/** A timer has one event; what is said is short, and one row. */
function withTimer(result: TurnResult, id: string, [row]: readonly NewEvent[], inMs: number): TurnResult {
  if (row === undefined) return result;
  return { ...result, timers: [...(result.timers ?? []), { id, inMs, event: row }] };
}

const momentLeft = ({ at }: StoredEvent, now: number) =>
  Math.min(MOMENT_MS, Math.max(0, at + MOMENT_MS - now));

/** Only an event that was claimed before can have one. */
function withoutTimer(result: TurnResult, event: StoredEvent): TurnResult {
  if (event.attempt === 1 && event.wasClaimed !== true) return result;
  return { ...result, cancelTimers: [...(result.cancelTimers ?? []), ...timersOf(event)] };
}

const timerOf = ({ seq }: StoredEvent) => `notice/${seq}`;
const lateTimerOf = ({ seq }: StoredEvent) => `notice/${seq}/late`;
const timersOf = (event: StoredEvent) => [timerOf(event), lateTimerOf(event)];
