// What stands within a paragraph, as nodes of the tracker's format. Lines stay lines. Code takes no other mark than a link, and a
// link leads to a page or an address of mail and nowhere else: any other address is text beside its label.

import { shownAddress, type Token } from './markdown.ts';
import type { InlineNode, Mark, TextNode } from './nodes.ts';

/** A longer address is text, and so is a longer title. */
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
  /** Where its label begins. */
  readonly from: number;
}

export function inlineNodes(tokens: readonly Token[]): readonly InlineNode[] {
  return new InlineReader().read(tokens);
}

class InlineReader {
  readonly #nodes: InlineNode[] = [];
  /** Open ones, in the order in which they were opened, and how many of each: one may stand within another of its kind. */
  readonly #open = new Map<Emphasis, number>();
  #link: OpenLink | undefined;

  read(tokens: readonly Token[]): readonly InlineNode[] {
    for (const token of tokens) this.#take(token);
    return merged(this.#nodes);
  }

  #take(token: Token): void {
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
    const left = (this.#open.get(mark) ?? 0) - 1;
    if (left > 0) this.#open.set(mark, left);
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
    if (label === '') this.#text(shownAddress(href), mark);
    this.#beside(label, link);
  }

  /** A picture is a link to it, by the words that stand for it. */
  #image(token: Token): void {
    const href = attribute(token, 'src');
    const title = attribute(token, 'title');
    const words = textOf(inlineNodes(token.children ?? []));
    const label = words === '' ? title : words;
    const mark = this.#link === undefined ? linkMark(href, title) : undefined;
    this.#text(label === '' ? shownAddress(href) : label, mark ?? this.#link?.mark);
    this.#beside(label, { href, title: label === title ? '' : title, mark });
  }

  /** What of it nobody would see otherwise. */
  #beside(label: string, { href, title, mark }: Omit<OpenLink, 'from'>): void {
    const address = shownAddress(href);
    const isSaid = mark !== undefined || label === '' || [label, ''].includes(address) || href === label;
    const isTitled = title === '' || (mark !== undefined && title.length <= MAX_TITLE);
    const words = [...(isSaid ? [] : [address]), ...(isTitled ? [] : [title])].join(' ');
    if (words !== '') this.#text(` (${words})`);
  }
}

function linkMark(href: string, title: string): Mark | undefined {
  if (href.length > MAX_ADDRESS || !SAFE_ADDRESS.test(href) || !URL.canParse(href)) return undefined;
  const isShown = title !== '' && title.length <= MAX_TITLE;
  return { type: 'link', attrs: { href, ...(isShown && { title }) } };
}

const attribute = (token: Token, name: string): string => String(token.attrGet(name) ?? '');

/** The same text in bold, as far as it may be. */
export function emphasised(nodes: readonly InlineNode[]): readonly InlineNode[] {
  return nodes.map((node) => {
    if (node.type !== 'text') return node;
    const { text, marks = [] } = node;
    const isPlain = marks.some(({ type }) => type === 'code' || type === 'strong');
    return isPlain ? node : textNode(text, [{ type: 'strong' }, ...marks]);
  });
}

export function textNode(text: string, marks: readonly Mark[] = []): TextNode {
  return marks.length === 0 ? { type: 'text', text } : { type: 'text', text, marks };
}

export function textOf(nodes: readonly InlineNode[]): string {
  return nodes.map((node) => (node.type === 'text' ? node.text : '\n')).join('');
}

/** Neighbours with the same marks are one. */
function merged(nodes: readonly InlineNode[]): readonly InlineNode[] {
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
