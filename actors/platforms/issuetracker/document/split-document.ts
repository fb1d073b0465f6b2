// A document that is longer than one comment of the tracker may be, as several. It is counted as JSON: how the tracker counts is
// nowhere written down, and no way of counting gives more.
//
// ITS1  no document is larger than the limit; none is without blocks.
// ITS2  it is divided between blocks as long as these fit; then between items, rows and lines of code; then between words. What is
//       divided is the same kind of block on both sides: code is code again, numbers go on, a table has its head again.
// ITS3  nothing is lost but the blank or the end of a line at a cut.

import { fittingEnd } from '../../../events/outbox/split-text.ts';
import { rowInWords } from './blocks.ts';
import { textNode } from './inline-nodes.ts';
import {
  type Block,
  type CodeBlock,
  documentOf,
  type InlineNode,
  type ItemBlock,
  type ListItem,
  type OrderedList,
  type Table,
  type TaskItem,
  type TaskList,
  type TrackerDocument,
} from './nodes.ts';

/** A head that takes more of a comment is not repeated. */
const HEAD_SHARE = 1 / 8;
/** A cut falls at a blank or the end of a line in the last half of what fits, else where it must. */
const CUT_SHARE = 1 / 2;
/** Characters by which the name of a task, or of a list of them, grows as the name of a later part. */
const PART_OF_NAME = 8;

const sizeOf = (value: object): number => JSON.stringify(value).length;
const EMPTY = sizeOf(documentOf([]));

/** `limit` is in characters of JSON. */
export function splitDocument(blocks: Iterable<Block>, limit: number): readonly TrackerDocument[] {
  return [...documents(blocks, limit)];
}

/** One after the other. */
export function* documents(blocks: Iterable<Block>, limit: number): Generator<TrackerDocument> {
  const room = limit - EMPTY;
  let group: Block[] = [];
  let size = 0;
  for (const block of blocks)
    for (const piece of divided(block, room)) {
      const more = sizeOf(piece) + 1;
      if (size + more > room + 1 && group.length > 0) {
        // What heads the next does not stand alone at the end.
        const last = group.at(-1);
        const kept = last?.type === 'heading' && group.length > 1 && sizeOf(last) + more < room ? [last] : [];
        yield documentOf(kept.length === 0 ? group : group.slice(0, -1));
        group = kept;
        size = kept.reduce((sum, each) => sum + sizeOf(each) + 1, 0);
      }
      group.push(piece);
      size += more;
    }
  if (group.length > 0) yield documentOf(group);
}

function divided(block: Block, room: number): readonly Block[] {
  if (sizeOf(block) <= room) return [block];
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return inlineParts(block.content, room - sizeOf({ ...block, content: [] })).map((content) => ({
        ...block,
        content,
      }));
    case 'codeBlock':
      return codeParts(block, room);
    case 'blockquote':
      return packed(
        block.content.flatMap((each) => dividedInItem(each, room - sizeOf({ ...block, content: [] }))),
        room - sizeOf({ ...block, content: [] }),
      ).map((content) => ({ ...block, content }));
    case 'bulletList':
    case 'orderedList':
      return listParts(block, room);
    case 'taskList':
      return taskParts(block, room);
    case 'table':
      return tableParts(block, room);
    default:
      return [block];
  }
}

/** What stands in an item is divided into what may stand in one. */
const dividedInItem = (block: ItemBlock, room: number) => divided(block, room) as readonly ItemBlock[];

function listParts(list: Extract<Block, { type: 'bulletList' | 'orderedList' }>, room: number) {
  const numbered = (order: number): OrderedList => ({ type: 'orderedList', attrs: { order }, content: [] });
  const first = list.type === 'orderedList' ? (list.attrs?.order ?? 1) : 1;
  const inner = room - sizeOf(numbered(first + list.content.length));
  const items = list.content.flatMap((item, i) =>
    itemParts(item, inner).map((part) => ({ part, order: first + i })),
  );
  return packed(items, inner, ({ part }) => sizeOf(part)).map((group): Block => {
    const content = group.map(({ part }) => part);
    const order = group[0]?.order ?? 1;
    if (list.type === 'bulletList') return { ...list, content };
    return order === 1 ? { type: 'orderedList', content } : { ...numbered(order), content };
  });
}

function itemParts(item: ListItem, room: number): readonly ListItem[] {
  if (sizeOf(item) <= room) return [item];
  const inner = room - sizeOf({ ...item, content: [] });
  const blocks = item.content.flatMap((each) => dividedInItem(each, inner));
  return packed(blocks, inner).map((content) => ({ ...item, content }));
}

function taskParts(list: TaskList, room: number): readonly TaskList[] {
  const inner = room - sizeOf({ ...list, content: [] }) - PART_OF_NAME;
  const parts = list.content.flatMap((each): readonly (TaskItem | TaskList)[] => {
    if (sizeOf(each) <= inner) return [each];
    if (each.type === 'taskList') return taskParts(each, inner);
    const contents = inlineParts(each.content, inner - sizeOf({ ...each, content: [] }) - PART_OF_NAME);
    return contents.map((content, i) => ({ ...each, attrs: partOf(each.attrs, i), content }));
  });
  return packed(parts, inner).map((content, i) => ({ ...list, attrs: partOf(list.attrs, i), content }));
}

/** No two tasks have one name. */
const partOf = <T extends { readonly localId: string }>(attrs: T, i: number): T =>
  i === 0 ? attrs : { ...attrs, localId: `${attrs.localId}-${i}` };

/** A row that is larger than a comment is said in words. */
function tableParts(table: Table, room: number): readonly Block[] {
  const [first, ...others] = table.content;
  const isHead = first?.content.every(({ type }) => type === 'tableHeader') === true;
  const head = isHead && sizeOf(first) <= room * HEAD_SHARE ? first : undefined;
  const rows = head === undefined ? table.content : others;
  const inner = room - sizeOf({ ...table, content: head === undefined ? [] : [head] }) - 1;
  return packed(rows, inner, sizeOf).flatMap((group): readonly Block[] => {
    const [row] = group;
    if (row !== undefined && sizeOf(row) > inner) return divided(rowInWords(row), room);
    return [{ ...table, content: head === undefined ? group : [head, ...group] }];
  });
}

/** In groups that fit, with a comma between two; what does not fit is alone. */
function packed<T extends object>(
  parts: readonly T[],
  room: number,
  sizeOfPart: (part: T) => number = sizeOf,
): readonly (readonly T[])[] {
  const groups: T[][] = [];
  let left = 0;
  for (const part of parts) {
    const size = sizeOfPart(part) + 1;
    const group = groups.at(-1);
    if (group === undefined || size > left + 1) {
      groups.push([part]);
      left = room;
    } else group.push(part);
    left -= size;
  }
  return groups;
}

function codeParts(block: CodeBlock, room: number): readonly CodeBlock[] {
  const code = block.content.map(({ text }) => text).join('');
  const inner = room - sizeOf({ ...block, content: [textNode('')] });
  return textParts(code, inner, /\n/).map((text) => ({ ...block, content: [textNode(text)] }));
}

function inlineParts(nodes: readonly InlineNode[], room: number): readonly (readonly InlineNode[])[] {
  const pieces = nodes.flatMap((node): readonly InlineNode[] => {
    if (node.type !== 'text' || sizeOf(node) <= room) return [node];
    const inner = room - sizeOf({ ...node, text: '' });
    return textParts(node.text, inner, /[ \n]/).map((text) => textNode(text, node.marks));
  });
  return packed(pieces, room);
}

/** Each with something in it. A sign that fits `gap` is left out at a cut. */
function textParts(text: string, room: number, gap: RegExp): readonly string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    const end = Math.max(fittingEnd(text, from, text.length, room, 'json'), from + 1);
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
