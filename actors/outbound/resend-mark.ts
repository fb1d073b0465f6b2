// A mark that nobody reads in a message, by which a second attempt finds what a first one may have posted, and by which our own
// messages are known, on platforms where messages can be looked through. Whoever sees the source does not learn what our
// triggers are called.

import { createHash } from 'node:crypto';

const MARK = '<!-- actor-gateway:';

/** Of one row of the outbox, the same at each attempt. */
export function resendMark(rowId: string): string {
  return `${MARK}${createHash('sha256').update(rowId).digest('hex').slice(0, 32)} -->`;
}

/** Whether a text was written by a gateway. */
export function isMarked(text: string): boolean {
  return text.includes(MARK);
}

/** The text without anything that would pass for the mark of another row. */
export function withoutMarks(text: string): string {
  return text.replaceAll(MARK, '<!-- ');
}
