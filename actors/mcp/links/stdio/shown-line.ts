// A line that a server wrote, as a person may see it: one line of plain text, short, and without secrets (A9).
// What a terminal would obey is taken out first, so that an escape sequence cannot hide half a secret.
// Whatever a server writes, the time taken grows with the length of the line only (A6).

import { StringDecoder } from 'node:string_decoder';
import { withoutSequences } from '../../../base/errors/control-sequences.ts';
import type { Redactor } from '../../../base/errors/redact.ts';

/** So many bytes of a line must be kept to show `maxChars` of it safely; what is beyond may be dropped. */
export function bytesToKeep(maxChars: number, redactor: Redactor): number {
  return 4 * (maxChars + redactor.longest);
}

/** Text of a line, at most about `maxChars` long; `isCut` says that its end was dropped. */
export function shownLine(raw: Buffer, maxChars: number, redactor: Redactor, isCut: boolean): string {
  // The decoder keeps back a character that was cut in two.
  const text = isCut ? new StringDecoder('utf8').write(raw) : raw.toString('utf8');
  // A progress bar writes over its own line: the last state is what a terminal would show.
  let end = text.length;
  while (text[end - 1] === '\r') end -= 1;
  const visible = text.slice(text.lastIndexOf('\r', end - 1) + 1, end);
  const plain = withoutSequences(visible).replace(/[^\P{Cc}\t]/gu, '');
  return redactor.excerpt(plain, maxChars, isCut);
}
