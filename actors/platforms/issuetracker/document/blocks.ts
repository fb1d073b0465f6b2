// Markdown as blocks of the tracker's format. What the format does not take where Markdown does is flattened, and loses its form
// but none of its words: in a list or a quotation a heading is a line in bold, a quotation its paragraphs, a table its rows as
// lines; a rule there is left out.

import { emphasised, inlineNodes, textNode } from './inline-nodes.ts';
import { type Token, tokensOf } from './markdown.ts';
import {
  type Block,
  type CodeBlock,
  type ItemBlock,
  type ListItem,
  type OrderedList,
  type Paragraph,
  paragraphOf,
  plainText,
  type Table,
  type TableCell,
  type TableRow,
  type TaskList,
} from './nodes.ts';
import { TaskNames, taskListOf } from './task-list.ts';

/** What a person would call the language of a block of code. */
const LANGUAGE = /^[\w+#.-]{1,40}$/;
/** Nobody sees them, and the tracker may refuse them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
const UNSEEN = /[\u0000-\u0008\u000e-\u001f\u007f\ufffe\uffff]/g;

/** Of a task list there are none: that is a list whose items begin with boxes. */
type ReadBlock = Exclude<Block, TaskList>;

/** None for a text of which nothing is seen. */
export function blocksOf(markdown: string): readonly Block[] {
  const text = seenIn(markdown);
  if (text.trim() === '') return [];
  const names = new TaskNames(text);
  const blocks = new BlockReader(tokensOf(text))
    .read()
    .map((block) => (block.type === 'bulletList' ? (taskListOf(block, names) ?? block) : block));
  // The tracker takes no comment without words: marks alone are what was said.
  return blocks.some((block) => plainText(block).trim() !== '') ? blocks : [asItIs(text)];
}

/** The text as it is written; nothing where nothing of it is seen. */
export function codeBlockOf(text: string): readonly CodeBlock[] {
  const code = seenIn(text).replace(/\r\n?/g, '\n').replace(/^\n+/, '').trimEnd();
  return code === '' ? [] : [{ type: 'codeBlock', content: [textNode(code)] }];
}

const seenIn = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\v\f]/g, ' ')
    .replace(UNSEEN, '');

function asItIs(text: string): Paragraph {
  const lines = text.trim().split(/\r?\n/);
  return paragraphOf(
    lines.flatMap((line, i) => [
      ...(i === 0 ? [] : [{ type: 'hardBreak' } as const]),
      ...(line === '' ? [] : [textNode(line)]),
    ]),
  );
}

class BlockReader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** Up to the end of what is open. */
  read(): readonly ReadBlock[] {
    const blocks: ReadBlock[] = [];
    for (let token = this.#next(); token !== undefined && token.nesting !== -1; token = this.#next())
      blocks.push(...this.#blocksAt(token));
    return blocks;
  }

  #blocksAt(token: Token): readonly ReadBlock[] {
    switch (token.type) {
      case 'paragraph_open':
        return paragraphs(this.#inline());
      case 'heading_open': {
        const content = this.#inline();
        return content.length === 0
          ? []
          : [{ type: 'heading', attrs: { level: Number(token.tag.slice(1)) }, content }];
      }
      case 'fence':
        return codeBlocks(token.content, token.info);
      case 'code_block':
        return codeBlocks(token.content, '');
      case 'hr':
        return [{ type: 'rule' }];
      case 'blockquote_open':
        return [{ type: 'blockquote', content: someOf(this.read().flatMap(inItem)) }];
      case 'bullet_list_open':
        return [{ type: 'bulletList', content: this.#items() }];
      case 'ordered_list_open':
        return [this.#orderedList(Number(token.attrGet('start') ?? 1))];
      case 'table_open':
        return [this.#table()];
      default:
        return token.content === '' ? [] : paragraphs([textNode(token.content)]);
    }
  }

  #orderedList(order: number): OrderedList {
    const content = this.#items();
    return { type: 'orderedList', ...(order !== 1 && { attrs: { order } }), content };
  }

  #items(): readonly ListItem[] {
    const items: ListItem[] = [];
    while (this.#next()?.type === 'list_item_open') {
      const blocks = this.read().flatMap(inItem);
      const [first] = blocks;
      const isList = first?.type === 'bulletList' || first?.type === 'orderedList';
      items.push({ type: 'listItem', content: isList ? [paragraphOf([]), ...blocks] : someOf(blocks) });
    }
    return items;
  }

  #table(): Table {
    const rows: TableRow[] = [];
    for (let token = this.#next(); token?.type !== 'table_close'; token = this.#next())
      if (token?.type === 'tr_open') rows.push({ type: 'tableRow', content: this.#cells() });
      else if (token === undefined) break;
    return { type: 'table', content: rows };
  }

  #cells(): readonly TableCell[] {
    const cells: TableCell[] = [];
    for (let token = this.#next(); token?.nesting === 1; token = this.#next()) {
      const type = token.tag === 'th' ? 'tableHeader' : 'tableCell';
      cells.push({ type, content: [paragraphOf(this.#inline())] });
    }
    return cells;
  }

  /** Of what was opened just now, with its end. */
  #inline() {
    const nodes = inlineNodes(this.#next()?.children ?? []);
    this.#next();
    return nodes;
  }

  #next(): Token | undefined {
    return this.#tokens[this.#at++];
  }
}

const paragraphs = (content: Paragraph['content']): readonly Paragraph[] =>
  content.length === 0 ? [] : [paragraphOf(content)];

/** There is always one, if an empty one. */
const someOf = (blocks: readonly ItemBlock[]): readonly ItemBlock[] =>
  blocks.length === 0 ? [paragraphOf([])] : blocks;

/** What stands beside the language is said above the block, as it may be the name of a file. */
function codeBlocks(content: string, info: string): readonly ItemBlock[] {
  const [language = ''] = info.trim().split(/\s/, 1);
  const isLanguage = LANGUAGE.test(language);
  const words = isLanguage && language === info.trim() ? '' : info.trim();
  const code = content.replace(/\n$/, '');
  const block: CodeBlock = {
    type: 'codeBlock',
    ...(isLanguage && { attrs: { language } }),
    content: code === '' ? [] : [textNode(code)],
  };
  return words === '' ? [block] : [paragraphOf([textNode(words)]), block];
}

/** The block as an item of a list or a quotation may have it. */
function inItem(block: ReadBlock): readonly ItemBlock[] {
  switch (block.type) {
    case 'heading':
      return [paragraphOf(emphasised(block.content))];
    case 'blockquote':
      return block.content;
    case 'table':
      return block.content.map(rowInWords);
    case 'rule':
      return [];
    default:
      return [block];
  }
}

/** Cell by cell; what heads a column is in bold. */
export function rowInWords({ content }: TableRow): Paragraph {
  const cells = content.flatMap(({ type, content: [paragraph] }, i) => [
    ...(i === 0 ? [] : [textNode(' | ')]),
    ...(type === 'tableHeader' ? emphasised(paragraph?.content ?? []) : (paragraph?.content ?? [])),
  ]);
  return paragraphOf(cells);
}
