// Mark in the last line of each note that the gateway writes. It identifies the note as the gateway's, and by
// it the note of an earlier attempt is found. Notes are plain text and cannot contain invisible marks, so the
// mark is short, looks like a signature, and contains no trigger name.

import { createHash } from 'node:crypto';

const MARK = /^-- actor-gateway [0-9a-f]{16}[^\S\n]*$/gm;
const LAST = /(?:^|\n)-- actor-gateway [0-9a-f]{16}\s*$/;

/** Returns the outbox row's mark, equal at each attempt. */
export function noteMark(rowId: string): string {
  return `-- actor-gateway ${createHash('sha256').update(rowId).digest('hex').slice(0, 16)}`;
}

/** Returns true if a gateway wrote the note. A person who quotes such a note writes below the mark. */
export function isMarkedNote(content: string): boolean {
  return LAST.test(content);
}

/** Removes lines that look like marks. */
export function withoutNoteMarks(text: string): string {
  return text.replace(MARK, '');
}
