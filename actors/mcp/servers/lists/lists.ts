// The four kinds of server lists, with items as raw JSON: clients receive items as the server wrote them.
// Merged lists replace only the name.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';

const BRACE = 0x7b;
const BRACKET = 0x5b;
const QUOTE = 0x22;

export type ListKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates';

export interface ListItem {
  /** Tool or prompt name, resource URI, or URI template. */
  readonly key: string;
  /** JSON of the item before and after the value of its key: `before + JSON(key) + after` is the item. */
  readonly before: string;
  readonly after: string;
}

/** Cache lifetime in milliseconds, and scope (2026-07-28, "Caching"). */
export interface CacheHint {
  readonly ttlMs: number;
  readonly scope: 'public' | 'private';
}

/** Default for a server without hints: immediately stale and private. */
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

/** Memory used by an item besides its text, in bytes. */
const ITEM_BYTES = 400;

/** Memory used by an item, in bytes. */
export function itemBytes({ key, before, after }: ListItem): number {
  return ITEM_BYTES + textBytes(key) + textBytes(before) + textBytes(after);
}

/** The engine may store non-ASCII text with two bytes per character. */
function textBytes(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

/** Returns true if both items have the same text. */
export function isSameItem(one: ListItem, other: ListItem): boolean {
  return one.key === other.key && one.before === other.before && one.after === other.after;
}

/** Returns the item as JSON, optionally with another key. */
export function itemJson(item: ListItem, key: string = item.key): string {
  return item.before + JSON.stringify(key) + item.after;
}

/** Combines hints: the shortest lifetime, and private if one is private. */
export function combineHints(hints: readonly CacheHint[]): CacheHint {
  if (hints.length === 0) return noCache;
  const ttlMs = Math.min(...hints.map((hint) => hint.ttlMs));
  return { ttlMs, scope: hints.every(({ scope }) => scope === 'public') ? 'public' : 'private' };
}

/**
 * Returns the items in a list response. Items without a key are omitted. The numbers for the scanner are
 * nesting depths.
 */
export function itemsOf(answer: Envelope, kind: ListKind): ListItem[] {
  const { bytes, result } = answer;
  if (result === undefined) return [];
  const items: ListItem[] = [];
  const scanner = new JsonScanner(bytes, result.start);
  if (scanner.peek() !== BRACE) return [];
  scanner.object(1, (member) => {
    if (member !== kind || scanner.peek() !== BRACKET) {
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

/**
 * Reads the item at the scanner's position and advances it. Returns undefined if the key member is missing.
 */
export function readItem(scanner: JsonScanner, kind: ListKind): ListItem | undefined {
  const { bytes } = scanner;
  const { key: keyMember } = listKinds[kind];
  const start = scanner.pos;
  if (scanner.peek() !== BRACE) {
    scanner.value(3);
    return undefined;
  }
  let keyStart = -1;
  let keyEnd = -1;
  scanner.object(3, (member) => {
    const valueStart = scanner.pos;
    scanner.value(4);
    if (member === keyMember && bytes[valueStart] === QUOTE) {
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
