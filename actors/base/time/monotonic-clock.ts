// Monotonic clock in epoch milliseconds, for durations such as retry pauses: the system time at process start
// plus the elapsed time. Setting the system clock does not change it.

/** Epoch milliseconds, unaffected by later clock changes. */
export function monotonicNow(): number {
  return performance.timeOrigin + performance.now();
}
