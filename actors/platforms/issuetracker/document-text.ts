// Converts documents of the tracker (its rich text format) into Markdown for agents. Most events contain
// plain text or wiki markup instead.
//
// Malformed nodes are skipped; unknown nodes yield their text and children. Nodes deeper than MAX_DEPTH are
// omitted.

import { linkAddress } from '../../events/outbox/escape-markdown.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

const MAX_DEPTH = 64;

/** Returns the Markdown; '' for a value that is no document. */
export function textOfDocument(value: unknown): string {
  if (textMember(value, 'type') !== 'doc') return '';
  return renderBlocks(value, 0).trim();
}

type Renderer = (node: unknown, depth: number) => string;

const listItems = (node: unknown, depth: number, mark: (item: unknown, index: number) => string): string =>
  childrenOf(node)
    .map((item, index) => indent(mark(item, index), renderBlocks(item, depth + 1, '\n')))
    .join('\n');

const checkbox = (item: unknown): string =>
  textMember(item, 'attrs.state') === 'DONE' ? '- [x] ' : '- [ ] ';

const renderers: Readonly<Record<string, Renderer>> = {
  paragraph: renderInline,
  text: (node) => renderMarks(textMember(node, 'text') ?? '', node),
  hardBreak: () => '\n',
  heading: (node, depth) => `${'#'.repeat(levelOf(node))} ${renderInline(node, depth)}`,
  codeBlock: renderCode,
  blockquote: (node, depth) => indent('> ', renderBlocks(node, depth + 1), '> '),
  rule: () => '---',
  bulletList: (node, depth) => listItems(node, depth, () => '- '),
  orderedList: (node, depth) => {
    const first = Number(memberOf(node, 'attrs.order') ?? 1);
    return listItems(node, depth, (_, index) => `${(Number.isSafeInteger(first) ? first : 1) + index}. `);
  },
  taskList: (node, depth) => listItems(node, depth, checkbox),
  decisionList: (node, depth) => listItems(node, depth, () => '- '),
  taskItem: renderInline,
  decisionItem: renderInline,
  table: (node, depth) =>
    childrenOf(node)
      .map((row) =>
        childrenOf(row)
          .map((cell) => renderBlocks(cell, depth + 2, ' '))
          .join(' | '),
      )
      .join('\n'),
  expand: renderExpand,
  nestedExpand: renderExpand,
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

function render(node: unknown, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  const type = textMember(node, 'type') ?? '';
  const renderer = Object.hasOwn(renderers, type) ? renderers[type] : undefined;
  if (renderer !== undefined) return renderer(node, depth);
  return textMember(node, 'text', 'attrs.text') ?? renderBlocks(node, depth + 1);
}

/** Renders the children, with `separator` between blocks. Adjacent inline nodes are joined. */
function renderBlocks(node: unknown, depth: number, separator = '\n\n'): string {
  const parts: string[] = [];
  let wasInline = false;
  for (const child of childrenOf(node)) {
    const text = render(child, depth + 1);
    const isInline = inlineTypes.has(textMember(child, 'type') ?? '');
    const last = parts.at(-1);
    if (isInline && wasInline && last !== undefined) parts[parts.length - 1] = last + text;
    else if (text !== '') parts.push(text);
    else continue;
    wasInline = isInline;
  }
  return parts.join(separator);
}

function renderInline(node: unknown, depth: number): string {
  return childrenOf(node)
    .map((child) => render(child, depth + 1))
    .join('');
}

/** Renders a code block, with a fence longer than any fence in the code. */
function renderCode(node: unknown, depth: number): string {
  const text = childrenOf(node)
    .map((child) => textMember(child, 'text') ?? render(child, depth + 1))
    .join('');
  const runs = text.match(/`{3,}/g) ?? [];
  const fence = '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run.length + 1), 3));
  return `${fence}${textMember(node, 'attrs.language') ?? ''}\n${text}\n${fence}`;
}

function renderExpand(node: unknown, depth: number): string {
  const title = textMember(node, 'attrs.title') ?? '';
  return [title, renderBlocks(node, depth + 1)].filter((part) => part !== '').join('\n\n');
}

function renderMarks(text: string, node: unknown): string {
  const marks = memberOf(node, 'marks');
  let shownText = text;
  for (const mark of Array.isArray(marks) ? marks : []) {
    const type = textMember(mark, 'type');
    if (type === 'code') shownText = codeSpan(shownText);
    const href = type === 'link' ? textMember(mark, 'attrs.href') : undefined;
    if (href !== undefined && href !== text) shownText = linkTo(shownText, href);
  }
  return shownText;
}

/** Returns a link whose label and address cannot end early. */
const linkTo = (label: string, address: string): string =>
  `[${label.replace(/[\\[\]]/g, '\\$&').replace(/\s+/g, ' ')}](${linkAddress(address)})`;

/** Returns code between marks that are longer than any marks in the code. */
function codeSpan(code: string): string {
  const runs = code.match(/`+/g) ?? [];
  if (runs.length === 0) return `\`${code}\``;
  const marks = '`'.repeat(runs.reduce((longest, run) => Math.max(longest, run.length + 1), 1));
  return `${marks} ${code} ${marks}`;
}

function indent(first: string, text: string, rest = ' '.repeat(first.length)): string {
  return first + text.replaceAll('\n', `\n${rest}`);
}

function levelOf(node: unknown): number {
  const level = memberOf(node, 'attrs.level');
  return typeof level === 'number' && level >= 1 && level <= 6 ? Math.trunc(level) : 1;
}

/** Returns the day of the timestamp, which is a string of milliseconds. */
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
