// An answer as a comment: within the host's limit, cut where it must be so that one sees it, and with a mark that nobody
// sees, by which a second attempt finds what a first one may have posted, and by which our own comments are known. Both
// stand before the answer: behind it a block of code, an HTML comment or a folded section that it leaves open would take
// them in.

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
  const head = `${commentMark(rowId)}\n\n`;
  if (head.length + text.length <= MAX_LENGTH) return head + text;
  const note = `*(cut: the answer has ${text.length} characters, more than a comment can hold)*\n\n`;
  const kept = text.slice(0, MAX_LENGTH - head.length - note.length).replace(/[\uD800-\uDBFF]$/, '');
  return head + note + kept;
}
