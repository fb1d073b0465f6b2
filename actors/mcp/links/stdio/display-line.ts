// Converts output of servers for display: one short line of plain text without secrets (A9, ARCHITECTURE.md).
// Terminal sequences are removed first, because they could split a secret. The time is linear in the length
// of the line (A6).

import { StringDecoder } from 'node:string_decoder';
import { removeControlSequences } from '../../../base/errors/control-sequences.ts';
import type { Redactor } from '../../../base/errors/redact.ts';

/** Returns the number of bytes needed to display `maxChars` characters and redact them correctly. */
export function bytesToKeep(maxChars: number, redactor: Redactor): number {
  // A character has up to four bytes in UTF-8. A secret may begin within the displayed part.
  return 4 * (maxChars + redactor.longest);
}

/** Returns the line for display, with about `maxChars` characters. `isCut`: the line was truncated before. */
export function displayLine(raw: Buffer, maxChars: number, redactor: Redactor, isCut: boolean): string {
  // The decoder omits a trailing incomplete character.
  const text = isCut ? new StringDecoder('utf8').write(raw) : raw.toString('utf8');
  // A progress bar overwrites its line: show the last state, as a terminal does.
  let end = text.length;
  while (text[end - 1] === '\r') end -= 1;
  const visible = text.slice(text.lastIndexOf('\r', end - 1) + 1, end);
  // All control characters except tabs are removed.
  const plain = removeControlSequences(visible).replace(/[^\P{Cc}\t]/gu, '');
  return redactor.excerpt(plain, maxChars, isCut);
}
