// A trace for what begins here, such as the tick of a schedule: a W3C traceparent, not sampled (Trace Context Level 1).

import { randomBytes } from 'node:crypto';

/** A traceparent of a trace of its own. */
export function newTrace(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`;
}
