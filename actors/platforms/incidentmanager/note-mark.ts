// The last line of each note that the gateway writes: by it a second attempt finds what a first one may have written, and an event
// that brings the note is known as our own. Notes are plain text, in which nothing can stand that nobody sees; so it is short,
// stands where a signature does, and does not say what our triggers are called.

import { createHash } from 'node:crypto';

const MARK = /^-- actor-gateway [0-9a-f]{16}[^\S\n]*$/gm;
const LAST = /(?:^|\n)-- actor-gateway [0-9a-f]{16}\s*$/;

/** Of one row of the outbox, the same at each attempt. */
export function noteMark(rowId: string): string {
  return `-- actor-gateway ${createHash('sha256').update(rowId).digest('hex').slice(0, 16)}`;
}

/** Whether a note was written by a gateway: somebody who quotes one writes behind it. */
export function isMarkedNote(content: string): boolean {
  return LAST.test(content);
}

/** The text without lines that would pass for the mark of another row. */
export function withoutNoteMarks(text: string): string {
  return text.replace(MARK, '');
}
