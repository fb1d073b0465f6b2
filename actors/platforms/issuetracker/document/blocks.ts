// Converts Markdown into block nodes of the tracker's document format. Structures that the format does not
// allow are flattened, and keep their text: in lists and quotations a heading becomes a bold line, a
// quotation its paragraphs, and a table one line per row. Rules are omitted there.

import { type Token, tokensOf } from '../../markdown/parser.ts';
import { inBold, inlineNodes, textNode } from './inline-nodes.ts';
import {
  type Block,
  type DocumentCodeBlock,
  type DocumentTableRow,
  type ItemBlock,
  type ListItemNode,
  type OrderedList,
  type Paragraph,
  paragraphOf,
  plainText,
  type TableCell,
  type TableNode,
  type TaskList,
} from './nodes.ts';
import { TaskIds, taskListOf } from './task-list.ts';

/** Valid language name for code blocks. */
const LANGUAGE = /^[\w+#.-]{1,40}$/;
/** Invisible characters, which the tracker may refuse. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
const INVISIBLE = /[\u0000-\u0008\u000e-\u001f\u007f\ufffe\uffff]/g;

/** Parsed blocks. Task lists are lists with checkboxes until they are converted. */
type ParsedBlock = Exclude<Block, TaskList>;

/** Returns the blocks; [] if the text contains no visible characters. */
export function blocksOf(markdown: string): readonly Block[] {
  const text = visibleText(markdown);
  if (text.trim() === '') return [];
  const ids = new TaskIds(text);
  const blocks = new BlockReader(tokensOf(text))
    .read()
    .map((block) => (block.type === 'bulletList' ? (taskListOf(block, ids) ?? block) : block));
  // The tracker refuses an empty comment, so a text that is only Markdown syntax becomes plain text.
  return blocks.some((block) => plainText(block).trim() !== '') ? blocks : [plainParagraph(text)];
}

/** Returns the text as a code block; [] if the text contains no visible characters. */
export function codeBlockOf(text: string): readonly DocumentCodeBlock[] {
  const code = visibleText(text).replace(/\r\n?/g, '\n').replace(/^\n+/, '').trimEnd();
  return code === '' ? [] : [{ type: 'codeBlock', content: [textNode(code)] }];
}

const visibleText = (text: string) =>
  text
    .toWellFormed()
    .replace(/[\v\f]/g, ' ')
    .replace(INVISIBLE, '');

function plainParagraph(text: string): Paragraph {
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

  /** Reads the blocks up to the end of the open block. */
  read(): readonly ParsedBlock[] {
    const blocks: ParsedBlock[] = [];
    for (let token = this.#next(); token !== undefined && token.nesting !== -1; token = this.#next())
      blocks.push(...this.#blocksAt(token));
    return blocks;
  }

  #blocksAt(token: Token): readonly ParsedBlock[] {
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
        return [{ type: 'blockquote', content: nonEmpty(this.read().flatMap(toItemBlocks)) }];
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

  #items(): readonly ListItemNode[] {
    const items: ListItemNode[] = [];
    while (this.#next()?.type === 'list_item_open') {
      const blocks = this.read().flatMap(toItemBlocks);
      const [first] = blocks;
      const isList = first?.type === 'bulletList' || first?.type === 'orderedList';
      items.push({ type: 'listItem', content: isList ? [paragraphOf([]), ...blocks] : nonEmpty(blocks) });
    }
    return items;
  }

  #table(): TableNode {
    const rows: DocumentTableRow[] = [];
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

  /** Reads the content of the block just opened, and its closing token. */
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

/** Adds an empty paragraph to an empty list, because the format requires content. */
const nonEmpty = (blocks: readonly ItemBlock[]): readonly ItemBlock[] =>
  blocks.length === 0 ? [paragraphOf([])] : blocks;

/**
 * Converts a code block. The info string after the language may be a file name, so it becomes a line above
 * the block.
 */
function codeBlocks(content: string, info: string): readonly ItemBlock[] {
  const [language = ''] = info.trim().split(/\s/, 1);
  const isLanguage = LANGUAGE.test(language);
  const caption = isLanguage && language === info.trim() ? '' : info.trim();
  const code = content.replace(/\n$/, '');
  const block: DocumentCodeBlock = {
    type: 'codeBlock',
    ...(isLanguage && { attrs: { language } }),
    content: code === '' ? [] : [textNode(code)],
  };
  return caption === '' ? [block] : [paragraphOf([textNode(caption)]), block];
}

/** Converts a block to blocks that list items and quotations may contain. */
function toItemBlocks(block: ParsedBlock): readonly ItemBlock[] {
  switch (block.type) {
    case 'heading':
      return [paragraphOf(inBold(block.content))];
    case 'blockquote':
      return block.content;
    case 'table':
      return block.content.map(rowParagraph);
    case 'rule':
      return [];
    default:
      return [block];
  }
}

/** Converts a row to a paragraph. Header cells are bold. */
export function rowParagraph({ content }: DocumentTableRow): Paragraph {
  const cells = content.flatMap(({ type, content: [paragraph] }, i) => [
    ...(i === 0 ? [] : [textNode(' | ')]),
    ...(type === 'tableHeader' ? inBold(paragraph?.content ?? []) : (paragraph?.content ?? [])),
  ]);
  return paragraphOf(cells);
}
