// A text that one message has to hold, cut so that one sees it: for platforms where the parts of an answer would not stand
// together. What was cut is said before it, since a block of code or a folded section that stays open would take in what follows.

import { fittingEnd, sizeOf, type TextUnit } from './split-text.ts';

export interface CutOptions {
  readonly limit: number;
  readonly unit: TextUnit;
  /** Before what is left: that it was cut. */
  readonly note: string;
}

/** The text, or the note and as much as there is room for besides; no pair of surrogates is cut. */
export function cutText(text: string, { limit, unit, note }: CutOptions): string {
  if (sizeOf(text, unit) <= limit) return text;
  const head = `${note}\n\n`;
  return head + text.slice(0, fittingEnd(text, 0, text.length, limit - sizeOf(head, unit), unit));
}
