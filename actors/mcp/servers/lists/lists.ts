// The four lists a server offers, item by item, as raw JSON: an item is shown to clients as the server wrote it,
// with nothing replaced but, in an aggregate, its name.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';

export type ListKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates';

export interface ListItem {
  /** The tool's or prompt's name, the resource's uri, or the template's pattern. */
  readonly key: string;
  /** Raw JSON before and after the value of that member: `before + JSON(key) + after` is the item. */
  readonly before: string;
  readonly after: string;
}

/** How long a result may be kept, in milliseconds, and by whom (2026-07-28, "Caching"). */
export interface CacheHint {
  readonly ttlMs: number;
  readonly scope: 'public' | 'private';
}

/** Of a server that says nothing: stale at once, and nobody else's business. */
export const noCache: CacheHint = { ttlMs: 0, scope: 'private' };

export type Lists = Readonly<Partial<Record<ListKind, readonly ListItem[]>>>;

export const listKinds: Record<
  ListKind,
  { method: string; key: string; capability: string; changed: string }
> = {
  tools: {
    method: 'tools/list',
    key: 'name',
    capability: 'tools',
    changed: 'notifications/tools/list_changed',
  },
  prompts: {
    method: 'prompts/list',
    key: 'name',
    capability: 'prompts',
    changed: 'notifications/prompts/list_changed',
  },
  resources: {
    method: 'resources/list',
    key: 'uri',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
  },
  resourceTemplates: {
    method: 'resources/templates/list',
    key: 'uriTemplate',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
  },
};

export const everyListKind = Object.keys(listKinds) as ListKind[];

/** Memory used by an item's record, string headers, and entries in merged lists. */
const ITEM_BYTES = 400;

/** Memory used by an item, in bytes. */
export function heldBytes({ key, before, after }: ListItem): number {
  return ITEM_BYTES + textBytes(key) + textBytes(before) + textBytes(after);
}

/** Text beyond ASCII can require two bytes per character. */
function textBytes(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

/** Whether both say the same in the same words. */
export function isSameItem(one: ListItem, other: ListItem): boolean {
  return one.key === other.key && one.before === other.before && one.after === other.after;
}

/** The item as JSON, under another name if one is given. */
export function itemJson(item: ListItem, key: string = item.key): string {
  return item.before + JSON.stringify(key) + item.after;
}

/** What holds for all of them together: the shortest time, and private if one is. */
export function strictest(hints: readonly CacheHint[]): CacheHint {
  if (hints.length === 0) return noCache;
  const ttlMs = Math.min(...hints.map((hint) => hint.ttlMs));
  return { ttlMs, scope: hints.every(({ scope }) => scope === 'public') ? 'public' : 'private' };
}

/** The items of a list answer; items without their key member are left out. */
export function itemsOf(answer: Envelope, kind: ListKind): ListItem[] {
  const { bytes, result } = answer;
  if (result === undefined) return [];
  const items: ListItem[] = [];
  const scanner = new JsonScanner(bytes, result.start);
  if (scanner.peek() !== 0x7b) return [];
  scanner.object(1, (member) => {
    if (member !== kind || scanner.peek() !== 0x5b) {
      scanner.value(2);
      return;
    }
    scanner.array(2, () => {
      const item = readItem(scanner, kind);
      if (item !== undefined) items.push(item);
    });
  });
  return items;
}

/** The item that the scanner is at, and walks over; undefined where its key member is missing. */
export function readItem(scanner: JsonScanner, kind: ListKind): ListItem | undefined {
  const { bytes } = scanner;
  const { key: keyMember } = listKinds[kind];
  const start = scanner.pos;
  if (scanner.peek() !== 0x7b) {
    scanner.value(3);
    return undefined;
  }
  let keyStart = -1;
  let keyEnd = -1;
  scanner.object(3, (member) => {
    const valueStart = scanner.pos;
    scanner.value(4);
    if (member === keyMember && bytes[valueStart] === 0x22) {
      keyStart = valueStart;
      keyEnd = scanner.pos;
    }
  });
  if (keyStart < 0) return undefined;
  return {
    key: textOf(bytes, keyStart, keyEnd),
    before: bytes.toString('utf8', start, keyStart),
    after: bytes.toString('utf8', keyEnd, scanner.pos),
  };
}
