// The text of a document in the tracker's own format, for an agent: what a person sees there, in the markdown that agents write
// themselves. Most events bring plain text or wiki markup, and need none of this.
//
// DT1  whatever is not as it should be is passed over, and never a fault; of an unknown node its text and what is in it are shown.
// DT2  what is nested deeper than MAX_DEPTH is left out.

import { memberOf, textMember } from '../payloads/payload-member.ts';

const MAX_DEPTH = 64;

/** Empty for what is no document, and for one without text. */
export function textOfDocument(value: unknown): string {
  if (textMember(value, 'type') !== 'doc') return '';
  return blocks(value, 0).trim();
}

type Show = (node: unknown, depth: number) => string;

const listItems = (node: unknown, depth: number, mark: (item: unknown, index: number) => string): string =>
  childrenOf(node)
    .map((item, index) => indented(mark(item, index), blocks(item, depth + 1, '\n')))
    .join('\n');

const tick = (item: unknown): string => (textMember(item, 'attrs.state') === 'DONE' ? '- [x] ' : '- [ ] ');

const shows: Readonly<Record<string, Show>> = {
  paragraph: inline,
  text: (node) => marked(textMember(node, 'text') ?? '', node),
  hardBreak: () => '\n',
  heading: (node, depth) => `${'#'.repeat(levelOf(node))} ${inline(node, depth)}`,
  codeBlock: code,
  blockquote: (node, depth) => indented('> ', blocks(node, depth + 1), '> '),
  rule: () => '---',
  bulletList: (node, depth) => listItems(node, depth, () => '- '),
  orderedList: (node, depth) => {
    const first = Number(memberOf(node, 'attrs.order') ?? 1);
    return listItems(node, depth, (_, index) => `${(Number.isSafeInteger(first) ? first : 1) + index}. `);
  },
  taskList: (node, depth) => listItems(node, depth, tick),
  decisionList: (node, depth) => listItems(node, depth, () => '- '),
  taskItem: inline,
  decisionItem: inline,
  table: (node, depth) =>
    childrenOf(node)
      .map((row) =>
        childrenOf(row)
          .map((cell) => blocks(cell, depth + 2, ' '))
          .join(' | '),
      )
      .join('\n'),
  expand: titled,
  nestedExpand: titled,
  mention: (node) => textMember(node, 'attrs.text') ?? '',
  emoji: (node) => textMember(node, 'attrs.text', 'attrs.shortName') ?? '',
  status: (node) => textMember(node, 'attrs.text') ?? '',
  date: (node) => dayOf(memberOf(node, 'attrs.timestamp')),
  inlineCard: addressOf,
  blockCard: addressOf,
  embedCard: addressOf,
  media: (node) => textMember(node, 'attrs.alt') ?? '',
  mediaInline: (node) => textMember(node, 'attrs.alt') ?? '',
};

const inlineTypes: ReadonlySet<string> = new Set([
  ...['text', 'hardBreak', 'mention', 'emoji', 'status', 'date', 'inlineCard', 'mediaInline'],
]);

function shown(node: unknown, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  const type = textMember(node, 'type') ?? '';
  const show = Object.hasOwn(shows, type) ? shows[type] : undefined;
  if (show !== undefined) return show(node, depth);
  return textMember(node, 'text', 'attrs.text') ?? blocks(node, depth + 1);
}

/** Blocks are apart; what stands in a line is not. */
function blocks(node: unknown, depth: number, apart = '\n\n'): string {
  const parts: string[] = [];
  let wasInline = false;
  for (const child of childrenOf(node)) {
    const text = shown(child, depth + 1);
    const isInline = inlineTypes.has(textMember(child, 'type') ?? '');
    const last = parts.at(-1);
    if (isInline && wasInline && last !== undefined) parts[parts.length - 1] = last + text;
    else if (text !== '') parts.push(text);
    else continue;
    wasInline = isInline;
  }
  return parts.join(apart);
}

function inline(node: unknown, depth: number): string {
  return childrenOf(node)
    .map((child) => shown(child, depth + 1))
    .join('');
}

/** Behind a fence that is longer than any in it. */
function code(node: unknown, depth: number): string {
  const text = childrenOf(node)
    .map((child) => textMember(child, 'text') ?? shown(child, depth + 1))
    .join('');
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run.length + 1), 3));
  return `${fence}${textMember(node, 'attrs.language') ?? ''}\n${text}\n${fence}`;
}

function titled(node: unknown, depth: number): string {
  const title = textMember(node, 'attrs.title') ?? '';
  return [title, blocks(node, depth + 1)].filter((part) => part !== '').join('\n\n');
}

function marked(text: string, node: unknown): string {
  const marks = memberOf(node, 'marks');
  let shownText = text;
  for (const mark of Array.isArray(marks) ? marks : []) {
    const type = textMember(mark, 'type');
    if (type === 'code') shownText = `\`${shownText}\``;
    const href = type === 'link' ? textMember(mark, 'attrs.href') : undefined;
    if (href !== undefined && href !== text) shownText = `[${shownText}](${href})`;
  }
  return shownText;
}

function indented(first: string, text: string, rest = ' '.repeat(first.length)): string {
  return first + text.replaceAll('\n', `\n${rest}`);
}

function levelOf(node: unknown): number {
  const level = memberOf(node, 'attrs.level');
  return typeof level === 'number' && level >= 1 && level <= 6 ? Math.trunc(level) : 1;
}

/** Of a time in ms, which is written as a text. */
function dayOf(timestamp: unknown): string {
  const time = new Date(Number(timestamp));
  return Number.isNaN(time.getTime()) ? '' : time.toISOString().slice(0, 10);
}

function addressOf(node: unknown): string {
  return textMember(node, 'attrs.url') ?? '';
}

function childrenOf(node: unknown): readonly unknown[] {
  const content = memberOf(node, 'content');
  return Array.isArray(content) ? content : [];
}
