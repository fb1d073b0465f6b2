// What an agent writes is text: a word in it that a platform would read as a mention of somebody, or of everybody, notifies
// nobody, unless the trigger says `mentions: allow`. Where a platform has a field that says so the adapter uses that; where
// it has none, such words are taken apart by a sign that nobody sees.

import { type CodeFence, fenceAfter } from './code-fence.ts';

/** Word joiner: no width, and no place for a line to break. */
const UNSEEN = '\u2060';

/**
 * The text in which nothing fits `mention` any more: each match has the sign behind its first character. `mention` is global.
 * Code stays as it is: platforms read no mentions in it, and people copy it.
 */
export function withoutMentions(text: string, mention: RegExp): string {
  let fence: CodeFence | undefined;
  const lines = text.split('\n').map((line) => {
    const before = fence;
    fence = fenceAfter(line, before);
    return before === undefined && fence === undefined ? takenApart(line, mention) : line;
  });
  return lines.join('\n');
}

/** Every other piece between backticks is code. */
function takenApart(line: string, mention: RegExp): string {
  const pieces = line.split(/(`+[^`]*`+)/);
  return pieces
    .map((piece, i) => (i % 2 === 1 ? piece : piece.replace(mention, (found) => apart(found))))
    .join('');
}

function apart(found: string): string {
  const [first = ''] = found;
  return first + UNSEEN + found.slice(first.length);
}
