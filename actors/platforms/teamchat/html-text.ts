// Converts the platform's HTML to plain text. Only paragraphs, line breaks and inline elements are expected.

import { decode } from './activity-text.ts';

/** Maximum HTML length; further text is omitted. */
const MAX_HTML = 131_072;
const LINE_ENDS = /<(?:br|\/p|\/div|\/li|\/h[1-6]|\/tr|\/blockquote)(?=[\s>/])[^<>]*>/gi;
const TAGS = /<[^<>]*>/g;

export function htmlText(html: string): string {
  const text = html.slice(0, MAX_HTML).replace(LINE_ENDS, '\n').replace(TAGS, '');
  return decode(text)
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
