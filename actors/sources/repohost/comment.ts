// An answer as a comment: within the host's limit, cut where it must be so that one sees it, and with a mark that nobody
// sees, by which a second attempt finds what a first one may have posted, and by which our own comments are known.

import { createHash } from 'node:crypto';
import { openFence } from './open-fence.ts';

/** Of the host, in characters. */
const MAX_LENGTH = 65_536;
/** For the line that closes a block of code which would take in what follows. */
const FENCE_ROOM = 100;
const MARK = '<!-- actor-gateway:';

/** The mark of one row of the outbox; whoever reads the source of a comment does not learn what our triggers are called. */
export function commentMark(rowId: string): string {
  return `${MARK}${createHash('sha256').update(rowId).digest('hex').slice(0, 32)} -->`;
}

/** Whether a comment was written by a gateway. */
export function isOurComment(text: string): boolean {
  return text.includes(MARK);
}

/** The text of a comment that carries the answer and the mark of its row. */
export function commentBody(answer: string, rowId: string): string {
  // An answer that repeats a mark must not pass for another row's.
  const text = answer.replaceAll(MARK, '<!-- ').trimEnd();
  const tail = `\n\n${commentMark(rowId)}`;
  return shortened(text, MAX_LENGTH - tail.length) + tail;
}

/** Ends outside of every block of code, so that what is written behind it is none of that. */
function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength - FENCE_ROOM) return withoutOpenFence(text);
  const whole = text.length <= maxLength ? withoutOpenFence(text) : undefined;
  if (whole !== undefined && whole.length <= maxLength) return whole;
  const note = `\n\n*(cut here: the answer has ${text.length} characters, more than a comment can hold)*`;
  const kept = text.slice(0, maxLength - note.length - FENCE_ROOM).replace(/[\uD800-\uDBFF]$/, '');
  return withoutOpenFence(kept) + note;
}

function withoutOpenFence(text: string): string {
  const fence = openFence(text);
  if (fence === undefined) return text;
  // Nobody writes one as long as this, and its block is not worth as much again.
  if (fence.closing.length >= FENCE_ROOM) return text.slice(0, fence.start).trimEnd();
  return `${text}\n${fence.closing}`;
}
