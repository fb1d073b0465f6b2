// Writes text in the platform's markup, which has no escape character and no labels of links.

import type { TextFormat } from '../../../config/resources/agents/text-format.ts';
import { labelAndAddress } from '../markdown/link-text.ts';
import { type MarkDialect, markedText } from '../markdown/marked-text.ts';
import { plainLines, styledLines } from '../markdown/styled-lines.ts';

const dialect: MarkDialect = {
  marks: { bold: '*', italic: '_', strike: '~', code: '`' },
  escapeText: (text) => text,
  link: labelAndAddress,
};

/** Returns the text in the platform's markup. */
export function messengerText(text: string, format: TextFormat): string {
  if (format === 'native') return text;
  return markedText(format === 'plain' ? plainLines(text) : styledLines(text), dialect);
}
