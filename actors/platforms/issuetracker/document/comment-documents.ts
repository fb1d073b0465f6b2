// Converts an agent's text into tracker documents, one per comment. Long texts are only partly parsed as
// Markdown, because parsing blocks the event loop; the remaining text becomes a code block.

import { fittingEnd } from '../../../events/outbox/split-text.ts';
import { blocksOf, codeBlockOf } from './blocks.ts';
import type { Block, TrackerDocument } from './nodes.ts';
import { documents } from './split-document.ts';

/** Maximum comment length at the tracker, in characters. */
export const MAX_COMMENT = 32_767;
/** Maximum length of the parsed beginning, in characters: two comments that contain only text. */
const MAX_PARSED = 65_536;

/**
 * Returns the documents, up to `max`; one more if the text is longer. [] if the text contains no visible
 * characters.
 */
export function commentDocuments(text: string, max: number): readonly TrackerDocument[] {
  const result: TrackerDocument[] = [];
  for (const document of documents(blocksIn(text), MAX_COMMENT)) {
    result.push(document);
    if (result.length > max) break;
  }
  return result;
}

function* blocksIn(text: string): Generator<Block> {
  const { end, next } = text.length <= MAX_PARSED ? { end: text.length, next: text.length } : cutIn(text);
  yield* blocksOf(text.slice(0, end));
  if (next < text.length) yield* codeBlockOf(text.slice(next));
}

/**
 * Returns the end of the parsed beginning and the start of the remaining text. Cuts between paragraphs, lines
 * or words if possible.
 */
function cutIn(text: string): { readonly end: number; readonly next: number } {
  for (const gap of ['\n\n', '\n', ' ']) {
    const end = text.lastIndexOf(gap, MAX_PARSED);
    if (end > MAX_PARSED / 2) return { end, next: end + gap.length };
  }
  const end = fittingEnd(text, 0, text.length, MAX_PARSED, 'utf16');
  return { end, next: end };
}
