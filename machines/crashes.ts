// Decides which events are suspected of ending the process. Of an event that was being handled when the process ended
// once, nobody can say whether it was the cause. But a cause ends the process each time it runs; other events are there
// only by chance. So an event that was there often, a suspect, runs seldom and beside few others, until it has come to
// an end, or runs alone and ends the process again. A pure decision (A7), from how often the process has ended with an
// event.
//
// CS1  an event that ends the process whenever it runs is given up after CRASH_LIMIT times, and whoever sent it is told. That is
//      tried GIVING_UP_TIMES: the process may end in it by chance. Then it is over, and nobody could be told.
// CS2  two that were there SEPARATED times or more never run beside each other: what ends the process does so with no more
//      than one of those that have been there often.
// CS3  no pause is longer than LONGEST_PAUSE_MS; it is none of the pauses between failed attempts, and uses up none.
// CS4  the pause begins anew with each start: so long the process has to last without a suspect before that is tried again. In a
//      night in which it does not, by whatever else ends it, the suspect has no part, and is not given up for it.
// CS5  below SEPARATED a suspect is held back by those of its own neighbourhood only: many that hang at one agent, through many
//      ends of the process, hold up no schedule (A6).

/** So many times, and it is not tried again. */
export const CRASH_LIMIT = 10;
const GIVING_UP_TIMES = 3;
const SEPARATED = 5;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/** How long to wait from a start on, after the process has ended with it so many times by now. */
export function pauseAfterCrashMs(crashes: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (crashes - 1));
}

/** It has ended the process so often that it is not even given to be given up. */
export function isOverAfter(crashes: number): boolean {
  return crashes >= CRASH_LIMIT + GIVING_UP_TIMES;
}

/**
 * Whether a suspect may begin beside those that run: `near` of its neighbourhood with at least as many crashes, the worst of
 * all with so many.
 */
export function mayBeginBeside(crashes: number, near: number, worst: number): boolean {
  return near < togetherAt(crashes) && (crashes < SEPARATED || worst < SEPARATED);
}

/** How many suspects of a neighbourhood with at least so many crashes may run at a time: 256, 64, 16, 4, and 1. */
function togetherAt(crashes: number): number {
  return crashes >= SEPARATED ? 1 : 4 ** (SEPARATED - crashes);
}
