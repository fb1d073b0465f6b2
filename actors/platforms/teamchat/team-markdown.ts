// Adapts Markdown to the platform, which joins the lines of a paragraph, and shows headings only in some
// clients. Headings become bold lines, and lines end with a hard break.

import { type CodeFence, fenceAfter } from '../../events/outbox/code-fence.ts';

const HEADING = /^([\s>]*)#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$/;
const HARD_BREAK = /(?: {2}|\\)$/;

export function teamMarkdown(markdown: string): string {
  let fence: CodeFence | undefined;
  const lines = markdown
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => {
      const before = fence;
      fence = fenceAfter(line, before);
      return {
        text: before === undefined && fence === undefined ? withoutHeading(line) : line,
        isCode: before !== undefined || fence !== undefined,
      };
    });
  return lines
    .map(({ text, isCode }, index) => {
      const next = lines[index + 1];
      const isJoined =
        !isCode && text.trim() !== '' && next !== undefined && !next.isCode && next.text.trim() !== '';
      return isJoined && !HARD_BREAK.test(text) ? `${text.trimEnd()}  ` : text;
    })
    .join('\n');
}

function withoutHeading(line: string): string {
  const [, prefix = '', heading = ''] = HEADING.exec(line) ?? [];
  const text = heading.replaceAll('**', '');
  return text.trim() === '' ? line : `${prefix}**${text}**`;
}
