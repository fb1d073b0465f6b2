// Splits a document into documents that fit into one comment each. Sizes are measured as JSON: it is
// undocumented how the tracker counts, and JSON is the largest measure.
//
// Each document is within the limit and has at least one block. Documents are split between blocks; within a
// large block, between items, rows or code lines; otherwise between words. Both parts keep the kind of block:
// code stays code, numbering continues, tables repeat their header. Only the blank or line break at a split
// is lost.

import { fittingEnd } from '../../../events/outbox/split-text.ts';
import { rowParagraph } from './blocks.ts';
import { textNode } from './inline-nodes.ts';
import {
  type Block,
  type DocumentCodeBlock,
  documentOf,
  type InlineNode,
  type ItemBlock,
  type ListItemNode,
  type OrderedList,
  type TableNode,
  type TaskItem,
  type TaskList,
  type TrackerDocument,
} from './nodes.ts';

/** Maximum size for repeated table headers, as a share of the limit. */
const HEAD_SHARE = 1 / 8;
/** Share of a part, at its end, in which a blank or line break is preferred for the split. */
const CUT_SHARE = 1 / 2;
/** Suffix length for task ids in later parts. */
const ID_SUFFIX_LENGTH = 8;

const sizeOf = (value: object): number => JSON.stringify(value).length;
const EMPTY_DOCUMENT_SIZE = sizeOf(documentOf([]));

/** Returns the documents. `limit` is in characters of JSON. */
export function splitDocument(blocks: Iterable<Block>, limit: number): readonly TrackerDocument[] {
  return [...documents(blocks, limit)];
}

/** Yields the documents in order. */
export function* documents(blocks: Iterable<Block>, limit: number): Generator<TrackerDocument> {
  const capacity = limit - EMPTY_DOCUMENT_SIZE;
  let group: Block[] = [];
  let size = 0;
  for (const block of blocks)
    for (const piece of divide(block, capacity)) {
      const more = sizeOf(piece) + 1;
      if (size + more > capacity + 1 && group.length > 0) {
        // A heading stays together with the next block.
        const last = group.at(-1);
        const carried =
          last?.type === 'heading' && group.length > 1 && sizeOf(last) + more < capacity ? [last] : [];
        yield documentOf(carried.length === 0 ? group : group.slice(0, -1));
        group = carried;
        size = carried.reduce((sum, each) => sum + sizeOf(each) + 1, 0);
      }
      group.push(piece);
      size += more;
    }
  if (group.length > 0) yield documentOf(group);
}

function divide(block: Block, capacity: number): readonly Block[] {
  if (sizeOf(block) <= capacity) return [block];
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return inlineParts(block.content, capacity - sizeOf({ ...block, content: [] })).map((content) => ({
        ...block,
        content,
      }));
    case 'codeBlock':
      return codeParts(block, capacity);
    case 'blockquote':
      return pack(
        block.content.flatMap((each) => divideItemBlock(each, capacity - sizeOf({ ...block, content: [] }))),
        capacity - sizeOf({ ...block, content: [] }),
      ).map((content) => ({ ...block, content }));
    case 'bulletList':
    case 'orderedList':
      return listParts(block, capacity);
    case 'taskList':
      return taskParts(block, capacity);
    case 'table':
      return tableParts(block, capacity);
    default:
      return [block];
  }
}

/** Splits a block in a list item or quotation; the parts are valid there too. */
const divideItemBlock = (block: ItemBlock, capacity: number) =>
  divide(block, capacity) as readonly ItemBlock[];

function listParts(list: Extract<Block, { type: 'bulletList' | 'orderedList' }>, capacity: number) {
  const emptyOrderedList = (order: number): OrderedList => ({
    type: 'orderedList',
    attrs: { order },
    content: [],
  });
  const first = list.type === 'orderedList' ? (list.attrs?.order ?? 1) : 1;
  const innerCapacity = capacity - sizeOf(emptyOrderedList(first + list.content.length));
  const items = list.content.flatMap((item, i) =>
    itemParts(item, innerCapacity).map((part) => ({ part, order: first + i })),
  );
  return pack(items, innerCapacity, ({ part }) => sizeOf(part)).map((group): Block => {
    const content = group.map(({ part }) => part);
    const order = group[0]?.order ?? 1;
    if (list.type === 'bulletList') return { ...list, content };
    return order === 1 ? { type: 'orderedList', content } : { ...emptyOrderedList(order), content };
  });
}

function itemParts(item: ListItemNode, capacity: number): readonly ListItemNode[] {
  if (sizeOf(item) <= capacity) return [item];
  const innerCapacity = capacity - sizeOf({ ...item, content: [] });
  const blocks = item.content.flatMap((each) => divideItemBlock(each, innerCapacity));
  return pack(blocks, innerCapacity).map((content) => ({ ...item, content }));
}

function taskParts(list: TaskList, capacity: number): readonly TaskList[] {
  const innerCapacity = capacity - sizeOf({ ...list, content: [] }) - ID_SUFFIX_LENGTH;
  const parts = list.content.flatMap((each): readonly (TaskItem | TaskList)[] => {
    if (sizeOf(each) <= innerCapacity) return [each];
    if (each.type === 'taskList') return taskParts(each, innerCapacity);
    const contents = inlineParts(
      each.content,
      innerCapacity - sizeOf({ ...each, content: [] }) - ID_SUFFIX_LENGTH,
    );
    return contents.map((content, i) => ({ ...each, attrs: partOf(each.attrs, i), content }));
  });
  return pack(parts, innerCapacity).map((content, i) => ({ ...list, attrs: partOf(list.attrs, i), content }));
}

/** Returns the attributes of a later part, with a task id that is still unique. */
const partOf = <T extends { readonly localId: string }>(attrs: T, i: number): T =>
  i === 0 ? attrs : { ...attrs, localId: `${attrs.localId}-${i}` };

/** Splits a table. A row that is larger than a comment becomes paragraphs. */
function tableParts(table: TableNode, capacity: number): readonly Block[] {
  const [first, ...others] = table.content;
  const isHead = first?.content.every(({ type }) => type === 'tableHeader') === true;
  const head = isHead && sizeOf(first) <= capacity * HEAD_SHARE ? first : undefined;
  const rows = head === undefined ? table.content : others;
  const innerCapacity = capacity - sizeOf({ ...table, content: head === undefined ? [] : [head] }) - 1;
  return pack(rows, innerCapacity, sizeOf).flatMap((group): readonly Block[] => {
    const [row] = group;
    if (row !== undefined && sizeOf(row) > innerCapacity) return divide(rowParagraph(row), capacity);
    return [{ ...table, content: head === undefined ? group : [head, ...group] }];
  });
}

/**
 * Groups parts that fit together, and counts one comma between two parts. A part that does not fit is a group
 * of its own.
 */
function pack<T extends object>(
  parts: readonly T[],
  capacity: number,
  sizeOfPart: (part: T) => number = sizeOf,
): readonly (readonly T[])[] {
  const groups: T[][] = [];
  let left = 0;
  for (const part of parts) {
    const size = sizeOfPart(part) + 1;
    const group = groups.at(-1);
    if (group === undefined || size > left + 1) {
      groups.push([part]);
      left = capacity;
    } else group.push(part);
    left -= size;
  }
  return groups;
}

function codeParts(block: DocumentCodeBlock, capacity: number): readonly DocumentCodeBlock[] {
  const code = block.content.map(({ text }) => text).join('');
  const innerCapacity = capacity - sizeOf({ ...block, content: [textNode('')] });
  return textParts(code, innerCapacity, /\n/).map((text) => ({ ...block, content: [textNode(text)] }));
}

function inlineParts(nodes: readonly InlineNode[], capacity: number): readonly (readonly InlineNode[])[] {
  const pieces = nodes.flatMap((node): readonly InlineNode[] => {
    if (node.type !== 'text' || sizeOf(node) <= capacity) return [node];
    const innerCapacity = capacity - sizeOf({ ...node, text: '' });
    return textParts(node.text, innerCapacity, /[ \n]/).map((text) => textNode(text, node.marks));
  });
  return pack(pieces, capacity);
}

/** Splits a text into non-empty parts. A split drops one character that matches `gap`. */
function textParts(text: string, capacity: number, gap: RegExp): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = Math.max(fittingEnd(text, from, text.length, capacity, 'json'), from + 1);
    const cut = end === text.length ? undefined : gapBefore(text, from, end, gap);
    parts.push(text.slice(from, cut ?? end));
    from = cut === undefined ? end : cut + 1;
  }
  return parts.filter((part) => part !== '');
}

function gapBefore(text: string, from: number, end: number, gap: RegExp): number | undefined {
  const least = from + Math.floor((end - from) * CUT_SHARE);
  for (let at = end; at > least; at -= 1) if (gap.test(text.charAt(at))) return at;
  return undefined;
}
