// Converts inline Markdown into lines of spans (span.ts). A link leads only to a web or mail address. Any
// other address, and an address whose label looks like another one, becomes text after the label.

import { isHonestLabel, labelAndAddress } from './link-text.ts';
import type { Token } from './parser.ts';
import type { TextSpan, TextStyle } from './span.ts';

const MAX_ADDRESS = 2_000;
const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:)\S+$/i;
const STYLES: Readonly<Record<string, TextStyle>> = { strong: 'bold', em: 'italic', s: 'strike' };

/** `styles` are the styles of the whole text. */
export function inlineLines(
  tokens: readonly Token[],
  styles: readonly TextStyle[],
): readonly (readonly TextSpan[])[] {
  const reader = new InlineReader(styles);
  for (const token of tokens) reader.add(token);
  return reader.lines;
}

interface OpenLink {
  readonly href: string;
  readonly isAutolink: boolean;
  readonly label: { text: string; styles: readonly TextStyle[]; href: string | undefined }[];
}

class InlineReader {
  readonly lines: TextSpan[][] = [[]];
  #styles: readonly TextStyle[];
  #link: OpenLink | undefined;

  constructor(styles: readonly TextStyle[]) {
    this.#styles = styles;
  }

  add(token: Token): void {
    const { type, tag, nesting, content } = token;
    const style = STYLES[tag];
    if (type === 'softbreak' || type === 'hardbreak') this.lines.push([]);
    else if (type === 'code_inline') this.#push(content, [...this.#styles, 'code']);
    else if (type === 'image') this.#addImage(token);
    else if (type === 'link_open') this.#openLink(token);
    else if (type === 'link_close') this.#closeLink();
    else if (style !== undefined && nesting === 1) this.#styles = [...this.#styles, style];
    else if (style !== undefined && nesting === -1)
      this.#styles = this.#styles.toSpliced(this.#styles.lastIndexOf(style), 1);
    // A label is no part of an autolink in Markdown, but of a link in the markup of some chats.
    else this.#push(this.#link?.isAutolink && content.includes('|') ? `<${content}>` : content);
  }

  #openLink(token: Token): void {
    const href = String(token.attrGet('href') ?? '');
    this.#link = { href, isAutolink: token.markup === 'autolink', label: [] };
  }

  #closeLink(): void {
    const { href = '', isAutolink = false, label = [] } = this.#link ?? {};
    this.#link = undefined;
    // A chat turns the address itself into a link.
    if (isAutolink) return;
    const text = label.map((span) => span.text).join('');
    if (isSafe(href) && isHonestLabel(text, href)) for (const span of label) span.href = href;
    else this.#push(labelAndAddress(text, href).slice(text.trim().length));
  }

  #addImage(token: Token): void {
    const src = String(token.attrGet('src') ?? '');
    const label = token.content.trim();
    if (this.#link === undefined && isSafe(src) && isHonestLabel(label, src))
      this.lines.at(-1)?.push({ text: label, styles: this.#styles, href: src });
    else this.#push(labelAndAddress(label, src));
  }

  #push(text: string, styles = this.#styles): void {
    if (text === '') return;
    const span = { text, styles: [...new Set(styles)], href: undefined };
    this.lines.at(-1)?.push(span);
    this.#link?.label.push(span);
  }
}

const isSafe = (href: string) => href.length <= MAX_ADDRESS && SAFE_ADDRESS.test(href);
