// What an agent wrote, as documents of the tracker: one for each comment that it takes.
//
// CD1  only so much of a text is read as Markdown, since the gateway does nothing else meanwhile. What follows stands as it was written, in
//      a block of code: nobody reads that far but who looks for something in it.

import { fittingEnd } from '../../../events/outbox/split-text.ts';
import { blocksOf, codeBlockOf } from './blocks.ts';
import type { Block, TrackerDocument } from './nodes.ts';
import { documents } from './split-document.ts';

/** Of one comment, as the tracker says it, in characters. */
export const MAX_COMMENT = 32_767;
/** In characters: two comments of nothing but text. */
const MAX_READ = 65_536;

/** At most `most` of them, and one more for a text that has more; none for a text of which nothing is seen. */
export function commentDocuments(text: string, most: number): readonly TrackerDocument[] {
  const found: TrackerDocument[] = [];
  for (const document of documents(blocksIn(text), MAX_COMMENT)) {
    found.push(document);
    if (found.length > most) break;
  }
  return found;
}

function* blocksIn(text: string): Generator<Block> {
  const { end, next } = text.length <= MAX_READ ? { end: text.length, next: text.length } : cutIn(text);
  yield* blocksOf(text.slice(0, end));
  if (next < text.length) yield* codeBlockOf(text.slice(next));
}

/** Between paragraphs, lines or words where such an end is near. */
function cutIn(text: string): { readonly end: number; readonly next: number } {
  for (const gap of ['\n\n', '\n', ' ']) {
    const end = text.lastIndexOf(gap, MAX_READ);
    if (end > MAX_READ / 2) return { end, next: end + gap.length };
  }
  const end = fittingEnd(text, 0, text.length, MAX_READ, 'utf16');
  return { end, next: end };
}
