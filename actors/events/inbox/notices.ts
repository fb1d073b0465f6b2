// Adds a notice for the sender to the result of a run, if the event is settled without an answer or is
// delayed by more than NOTICEABLE_MS. The notice is part of the same commit, so no sender expects an answer
// that will not arrive.
//
// A notice is an outbox row with a fixed id, and the store accepts each id once. While an event is `held` or
// `queued` (paused trigger, no free slot), a timer in the store sends the notice; it is cancelled when the
// event is settled first. A second timer expires the event at `notAfter`.

import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { TurnResult } from '../../store/store.ts';
import type { Effects, Notice, Work } from './work.ts';

/** Minimum delay for a notice. */
const NOTICEABLE_MS = 3_000;

/** Part of the outcome that decides which notice is sent. */
export interface NoticeContext {
  /** Notice if the event is settled; undefined if it was answered. */
  readonly ending?: Notice | undefined;
  /** See `WorkOutcome`. */
  readonly notAfter?: number | undefined;
}

/** Returns the result, extended by notices and timers. `now` is epoch ms. Throws errors of `noticeRows`. */
export function withNotice(
  result: TurnResult,
  event: StoredEvent,
  work: Work,
  now: number,
  { ending, notAfter }: NoticeContext = {},
): TurnResult {
  if (work.noticeRows === undefined) return result;
  switch (result.outcome) {
    case 'dead':
      return withoutTimer(
        withRows(result, work.noticeRows(event, ending ?? 'failed', result.trigger)),
        event,
      );
    case 'done':
    case 'ignored': {
      const rows = ending === undefined ? [] : work.noticeRows(event, ending, result.trigger);
      return withoutTimer(withRows(result, rows), event);
    }
    case 'retrying':
    case 'deferred':
      return (result.retryInMs ?? 0) < NOTICEABLE_MS
        ? result
        : withRows(result, work.noticeRows(event, 'waits', result.trigger));
    case 'held':
    case 'queued': {
      // `heldBy` names the paused trigger or the full slot group. Without it, the gateway is stopping, and
      // the event runs at the next start.
      if (result.heldBy === undefined) return result;
      const [notice] = work.noticeRows(event, 'waits', result.trigger);
      const withNoticeTimer = withTimer(result, noticeTimerOf(event), notice, msUntilNoticeable(event, now));
      if (notAfter === undefined) return withNoticeTimer;
      // The second value limits the time if the clock was set back since the event arrived.
      const inMs = Math.max(0, Math.min(notAfter - now, notAfter - event.at));
      return withTimer(withNoticeTimer, expiryTimerOf(event), work.expiryEvent?.(event), inMs);
    }
    default:
      return result;
  }
}

/** Returns the notice for a discarded event, and the timers to cancel. Throws errors of `noticeRows`. */
export function discardEffects(
  event: StoredEvent,
  work: Work,
  trigger: string | undefined,
): Pick<Effects, 'emit' | 'cancelTimers'> {
  if (work.noticeRows === undefined) return {};
  return { emit: work.noticeRows(event, 'stopped', trigger), cancelTimers: timersOf(event) };
}

function withRows(result: TurnResult, rows: readonly NewEvent[]): TurnResult {
  return rows.length === 0 ? result : { ...result, emit: [...(result.emit ?? []), ...rows] };
}

/** Adds a timer that appends the event after `inMs`. */
function withTimer(result: TurnResult, id: string, event: NewEvent | undefined, inMs: number): TurnResult {
  if (event === undefined) return result;
  return { ...result, timers: [...(result.timers ?? []), { id, inMs, event }] };
}

const msUntilNoticeable = ({ at }: StoredEvent, now: number) =>
  Math.min(NOTICEABLE_MS, Math.max(0, at + NOTICEABLE_MS - now));

/** Cancels the timers of the event. Only results of earlier attempts start timers. */
function withoutTimer(result: TurnResult, event: StoredEvent): TurnResult {
  if (event.attempt === 1 && event.wasClaimed !== true) return result;
  return { ...result, cancelTimers: [...(result.cancelTimers ?? []), ...timersOf(event)] };
}

const noticeTimerOf = ({ seq }: StoredEvent) => `notice/${seq}`;
const expiryTimerOf = ({ seq }: StoredEvent) => `notice/${seq}/late`;
const timersOf = (event: StoredEvent) => [noticeTimerOf(event), expiryTimerOf(event)];
