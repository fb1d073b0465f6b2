// An answer as a comment: within the host's limit, cut where it must be so that one sees it, and with a mark that nobody
// sees, by which a second attempt finds what a first one may have posted, and by which our own comments are known.

import { createHash } from 'node:crypto';

/** Of the host, in characters. */
const MAX_LENGTH = 65_536;
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

function shortened(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const note = `\n\n*(cut here: the answer has ${text.length} characters, more than a comment can hold)*`;
  const fence = '\n```';
  const kept = text.slice(0, maxLength - note.length - fence.length).replace(/[\uD800-\uDBFF]$/, '');
  // A block of code that the cut left open would swallow the note.
  const isFenceOpen = (kept.match(/^ {0,3}```/gm) ?? []).length % 2 === 1;
  return `${kept}${isFenceOpen ? fence : ''}${note}`;
}
