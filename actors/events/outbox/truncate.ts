// Truncates text to one message, for platforms where the parts of split answers would not stay together. The
// note about it is at the start: at the end, an open code block or folded section could swallow it.

import { fittingEnd, sizeOf, type TextUnit } from './split-text.ts';

export interface TruncateOptions {
  readonly limit: number;
  readonly unit: TextUnit;
  /** Note before the text, such as "truncated". */
  readonly note: string;
}

/** Returns the text if it fits; otherwise the note and the longest possible prefix. */
export function truncateWithNote(text: string, { limit, unit, note }: TruncateOptions): string {
  if (sizeOf(text, unit) <= limit) return text;
  const head = `${note}\n\n`;
  return head + text.slice(0, fittingEnd(text, 0, text.length, limit - sizeOf(head, unit), unit));
}
