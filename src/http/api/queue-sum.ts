// Combines the statistics of several queues, such as the outbox queues of all platforms.
// QueueStats describes each counter.

import type { QueueStats } from '../../../actors/events/inbox/queue-stats.ts';

/** Returns the sums of the counters, and the longest durations. */
export function sumQueueStats(queues: readonly QueueStats[]): QueueStats {
  const sum = (of: (queue: QueueStats) => number) => queues.reduce((total, queue) => total + of(queue), 0);
  const longest = (of: (queue: QueueStats) => number | null) =>
    queues.map(of).reduce((longestMs, ms) => (ms !== null && ms >= (longestMs ?? 0) ? ms : longestMs), null);
  const states: Record<string, number> = {};
  for (const queue of queues)
    for (const [state, count] of Object.entries(queue.states)) states[state] = (states[state] ?? 0) + count;
  return {
    active: sum(({ active }) => active),
    resting: sum(({ resting }) => resting),
    overruns: sum(({ overruns }) => overruns),
    places: sum(({ places }) => places),
    states,
    handled: sum(({ handled }) => handled),
    done: sum(({ done }) => done),
    ignored: sum(({ ignored }) => ignored),
    held: sum(({ held }) => held),
    deferred: sum(({ deferred }) => deferred),
    failed: sum(({ failed }) => failed),
    retried: sum(({ retried }) => retried),
    dead: sum(({ dead }) => dead),
    lost: sum(({ lost }) => lost),
    duration_ms: {
      p50: longest(({ duration_ms }) => duration_ms.p50),
      p95: longest(({ duration_ms }) => duration_ms.p95),
    },
  };
}
