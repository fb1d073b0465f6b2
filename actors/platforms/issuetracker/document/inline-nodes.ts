// Converts inline Markdown into text nodes with marks. Line breaks stay. The only mark that code can have is
// a link. Links lead only to web and mail addresses; any other address becomes text after the label.

import { readableAddress, type Token } from '../../markdown/parser.ts';
import type { InlineNode, Mark, TextNode } from './nodes.ts';

/** Maximum lengths in a link; longer addresses and titles become text. */
const MAX_ADDRESS = 2_000;
const MAX_TITLE = 500;
const SAFE_ADDRESS = /^(https?:\/\/|mailto:)[^\s]/i;
type Emphasis = Mark['type'] & ('strong' | 'em' | 'strike');
const MARKS: Readonly<Record<string, Emphasis>> = {
  strong: 'strong',
  em: 'em',
  s: 'strike',
};

interface OpenLink {
  readonly href: string;
  readonly title: string;
  readonly mark: Mark | undefined;
  /** Index of the first node of the label. */
  readonly from: number;
}

export function inlineNodes(tokens: readonly Token[]): readonly InlineNode[] {
  return new InlineReader().read(tokens);
}

class InlineReader {
  readonly #nodes: InlineNode[] = [];
  /** Open marks with their nesting depth. */
  readonly #open = new Map<Emphasis, number>();
  #link: OpenLink | undefined;

  read(tokens: readonly Token[]): readonly InlineNode[] {
    for (const token of tokens) this.#add(token);
    return mergeText(this.#nodes);
  }

  #add(token: Token): void {
    const { type, tag, nesting, content } = token;
    const mark = MARKS[tag];
    if (type === 'softbreak' || type === 'hardbreak') this.#nodes.push({ type: 'hardBreak' });
    else if (type === 'code_inline') this.#code(content);
    else if (type === 'image') this.#image(token);
    else if (type === 'link_open') this.#openLink(token);
    else if (type === 'link_close') this.#closeLink();
    else if (mark !== undefined && nesting === 1) this.#open.set(mark, (this.#open.get(mark) ?? 0) + 1);
    else if (mark !== undefined && nesting === -1) this.#close(mark);
    else this.#text(content);
  }

  #close(mark: Emphasis): void {
    const depth = (this.#open.get(mark) ?? 0) - 1;
    if (depth > 0) this.#open.set(mark, depth);
    else this.#open.delete(mark);
  }

  #text(text: string, link = this.#link?.mark): void {
    if (text === '') return;
    const marks: Mark[] = [...this.#open.keys()].map((type) => ({ type }));
    if (link !== undefined) marks.push(link);
    this.#nodes.push(textNode(text, marks));
  }

  #code(text: string): void {
    const link = this.#link?.mark;
    if (text !== '')
      this.#nodes.push(textNode(text, [{ type: 'code' }, ...(link === undefined ? [] : [link])]));
  }

  #openLink(token: Token): void {
    const href = attribute(token, 'href');
    const title = attribute(token, 'title');
    this.#link = { href, title, mark: linkMark(href, title), from: this.#nodes.length };
  }

  #closeLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (link === undefined) return;
    const { href, mark, from } = link;
    const label = textOf(this.#nodes.slice(from));
    if (label === '') this.#text(readableAddress(href), mark);
    this.#addHiddenDetails(label, link);
  }

  /** Converts an image to a link with the alternative text. */
  #image(token: Token): void {
    const href = attribute(token, 'src');
    const title = attribute(token, 'title');
    const text = textOf(inlineNodes(token.children ?? []));
    const label = text === '' ? title : text;
    const mark = this.#link === undefined ? linkMark(href, title) : undefined;
    this.#text(label === '' ? readableAddress(href) : label, mark ?? this.#link?.mark);
    this.#addHiddenDetails(label, { href, title: label === title ? '' : title, mark });
  }

  /** Adds the address or title as text, if the link does not show it. */
  #addHiddenDetails(label: string, { href, title, mark }: Omit<OpenLink, 'from'>): void {
    const address = readableAddress(href);
    const isShown = mark !== undefined || label === '' || [label, ''].includes(address) || href === label;
    const hasTitle = title === '' || (mark !== undefined && title.length <= MAX_TITLE);
    const text = [...(isShown ? [] : [address]), ...(hasTitle ? [] : [title])].join(' ');
    if (text !== '') this.#text(` (${text})`);
  }
}

function linkMark(href: string, title: string): Mark | undefined {
  if (href.length > MAX_ADDRESS || !SAFE_ADDRESS.test(href) || !URL.canParse(href)) return undefined;
  const hasTitle = title !== '' && title.length <= MAX_TITLE;
  return { type: 'link', attrs: { href, ...(hasTitle && { title }) } };
}

const attribute = (token: Token, name: string): string => String(token.attrGet(name) ?? '');

/** Makes the nodes bold. Code stays as it is, because the format does not allow bold code. */
export function inBold(nodes: readonly InlineNode[]): readonly InlineNode[] {
  return nodes.map((node) => {
    if (node.type !== 'text') return node;
    const { text, marks = [] } = node;
    const isUnchanged = marks.some(({ type }) => type === 'code' || type === 'strong');
    return isUnchanged ? node : textNode(text, [{ type: 'strong' }, ...marks]);
  });
}

export function textNode(text: string, marks: readonly Mark[] = []): TextNode {
  return marks.length === 0 ? { type: 'text', text } : { type: 'text', text, marks };
}

export function textOf(nodes: readonly InlineNode[]): string {
  return nodes.map((node) => (node.type === 'text' ? node.text : '\n')).join('');
}

/** Merges adjacent text nodes with the same marks. */
function mergeText(nodes: readonly InlineNode[]): readonly InlineNode[] {
  const all: InlineNode[] = [];
  for (const node of nodes) {
    const last = all.at(-1);
    if (node.type === 'text' && last?.type === 'text' && isMarkedAlike(node, last))
      all[all.length - 1] = textNode(last.text + node.text, last.marks);
    else all.push(node);
  }
  return all;
}

const isMarkedAlike = ({ marks: a }: TextNode, { marks: b }: TextNode) =>
  JSON.stringify(a) === JSON.stringify(b);
