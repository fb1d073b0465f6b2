// The request id and the W3C trace context of every request: those of the client where they are valid, otherwise generated. Both
// are in every log line about the request.

import { randomBytes } from 'node:crypto';

const saneId = /^[A-Za-z0-9._:-]{1,128}$/;
// Trace Context Level 1, section 3.2: version 00; all-zero ids are invalid.
const saneTrace = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})$/;

export function requestIdOf(given: string | undefined): string {
  return given !== undefined && saneId.test(given) ? given : random.take(16);
}

/** The trace goes on under a span of our own; without one, a new trace begins, not sampled. */
export function traceparentOf(given: string | undefined): string {
  const match = given === undefined ? null : saneTrace.exec(given);
  const span = random.take(8);
  return match === null ? `00-${random.take(16)}-${span}-00` : `00-${match[1]}-${span}-${match[2]}`;
}

/** Random bytes are drawn in one go for many requests: a system call for each would cost more than the rest here. */
const random = {
  pool: '',
  take(bytes: number): string {
    const length = bytes * 2;
    if (this.pool.length < length) this.pool = randomBytes(4096).toString('hex');
    const taken = this.pool.slice(-length);
    this.pool = this.pool.slice(0, -length);
    return taken;
  },
};
