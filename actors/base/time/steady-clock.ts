// The time by which pauses are kept: what the clock of the machine said when the process began, and what has passed since.
// Whoever sets the clock meanwhile makes no pause longer or shorter.

/** Epoch ms by the clock of then. */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}
