// Isolates events that may crash the process. A crash does not reveal which of the running events caused it,
// so all of them become suspects: events with a crash count above 0. The more crashes a suspect has, the
// later it runs and with the fewer other suspects, until it finishes, or crashes the process while running
// alone. The decisions are pure functions of the crash counts.
//
// - After CRASH_LIMIT crashes an event becomes dead, and its sender is notified. The notification may crash
//   the process too; after MAX_NOTICE_CRASHES such crashes the event is dropped.
// - Two events with ISOLATION_CRASHES crashes or more never run together. With fewer crashes, a suspect is
//   delayed only by suspects of its crash domain (trigger, repository or platform), so hanging events of an
//   agent do not delay schedules.
// - A suspect's pause is at most MAX_PAUSE_MS and does not count as a retry. It begins at the start
//   of the process: a suspect resumes only when the process has run that long without it. Crashes during the
//   pause have another cause and do not count for the suspect.

/** Number of crashes after which an event becomes dead. */
export const CRASH_LIMIT = 10;
const MAX_NOTICE_CRASHES = 3;
const ISOLATION_CRASHES = 5;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;

/** Pause after process start, for this number of crashes. */
export function pauseAfterCrashMs(crashes: number): number {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (crashes - 1));
}

/** Returns true if the notification about the dead event has also crashed the process too often. */
export function isDeadAfter(crashes: number): boolean {
  return crashes >= CRASH_LIMIT + MAX_NOTICE_CRASHES;
}

/**
 * Returns true if a suspect may start now. `inDomain` is the number of running suspects in its crash domain
 * with at least as many crashes; `maxCrashes` is the highest crash count among the running suspects.
 */
export function mayStartWith(crashes: number, inDomain: number, maxCrashes: number): boolean {
  return inDomain < maxTogether(crashes) && (crashes < ISOLATION_CRASHES || maxCrashes < ISOLATION_CRASHES);
}

/** Returns the maximum number of concurrent suspects per domain: 256, 64, 16, 4, then 1. */
function maxTogether(crashes: number): number {
  return crashes >= ISOLATION_CRASHES ? 1 : 4 ** (ISOLATION_CRASHES - crashes);
}
