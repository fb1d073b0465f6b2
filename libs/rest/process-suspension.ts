// Aborts overdue work after a process suspension (stopped, swapped out, starved). Overdue timers may then
// fire later than other pending work: a response, a connection, a continuation. Code with side effects calls
// `abortOverdueWork` first, which aborts the signals of all work past its deadline. It is called again right
// before fetch writes a request, because connecting may take long. A suspension between this call and the
// system call cannot be detected.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';

const listeners = new Set<() => void>();
/** Published by the client behind `fetch` once connected, immediately before each request is written. */
const BEFORE_REQUEST_WRITE = 'undici:client:sendHeaders';

/**
 * Registers `abortIfOverdue`, which aborts the caller's work if its deadline has passed. It must be fast and
 * must not throw. Returns a function that removes it.
 */
export function onAbortOverdueWork(abortIfOverdue: () => void): () => void {
  // A separate function, so that the same `abortIfOverdue` can be registered twice.
  const listener = () => abortIfOverdue();
  if (listeners.size === 0) subscribe(BEFORE_REQUEST_WRITE, abortOverdueWork);
  listeners.add(listener);
  return () => {
    if (listeners.delete(listener) && listeners.size === 0)
      unsubscribe(BEFORE_REQUEST_WRITE, abortOverdueWork);
  };
}

/** Aborts all registered work past its deadline. Call it before a side effect, then check your own signal. */
export function abortOverdueWork(): void {
  for (const listener of listeners) listener();
}
