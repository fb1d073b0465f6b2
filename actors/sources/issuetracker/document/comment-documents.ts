// What an agent wrote, as documents of the tracker: one for each comment that it takes.

import { splitText } from '../../../outbound/split-text.ts';
import { blocksOf } from './document-blocks.ts';
import type { Block, TrackerDocument } from './document-nodes.ts';
import { documents } from './split-document.ts';

/** Of one comment, as the tracker says it, in characters. */
export const MAX_COMMENT = 32_767;
/** A longer text is read piece by piece, as far as it is sent. */
const MAX_READ = 262_144;

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
  for (const part of splitText(text, { limit: MAX_READ, unit: 'utf16' })) yield* blocksOf(part);
}
