// Splits merged lists (of several servers) into pages. A cursor contains the set of completed servers and the
// position in the current server, so changes of other servers do not move it. A client that follows all
// cursors receives the items of unchanged servers exactly once, in order. A cursor exists only if more items
// exist. Pages have up to PAGE_ITEMS items and PAGE_CHARS characters, but at least one item (A8,
// ARCHITECTURE.md).

import { createHash } from 'node:crypto';
import type { ListKind } from '../../servers/lists/lists.ts';
import { CursorSeal } from './cursor.ts';

/** Typical catalogs fit on one page, with equal bytes for every client. */
export const PAGE_ITEMS = 1000;
/** A page is a message, and many clients reject larger messages. */
const PAGE_CHARS = 4 * 1024 * 1024;

/** One server's items. Two servers with the same uri have two items. */
export interface ServerItems<Item> {
  readonly server: string;
  readonly items: readonly Item[];
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | undefined;
}

interface PageItem {
  readonly key: string;
  /** Length of the text in characters. */
  readonly chars: number;
}

/** Position in a list, stored in a cursor: one bit per server and the position in one server. */
interface ListProgress {
  /** Bit n is set if server number n is completed. */
  readonly completedServers: Buffer;
  /** Position in the current server: its number, the number of items sent, and a digest of the last item. */
  readonly part: readonly [server: number, count: number, mark: string] | undefined;
}

export class ListPages {
  readonly #pageItems: number;
  readonly #seal = new CursorSeal();
  /** Server numbers by id. Never removed, because cursors contain them. */
  readonly #numbers = new Map<string, number>();

  constructor(pageItems: number = PAGE_ITEMS) {
    this.#pageItems = pageItems;
  }

  /** Returns a page, by default the first. Throws RpcFault -32602 for invalid cursors. */
  page<Item extends PageItem>(
    kind: ListKind,
    list: readonly ServerItems<Item>[],
    cursor?: string,
  ): Page<Item> {
    const progress = cursor === undefined ? start : readProgress(this.#seal.open(kind, cursor));
    const numbered = list.map((entry) => ({ ...entry, number: this.#numberOf(entry.server) }));
    // One bit per server, eight in each byte. Servers may have been added since the cursor was created.
    const completedServers = Buffer.alloc(Math.ceil(this.#numbers.size / 8));
    progress.completedServers.copy(completedServers);
    const [partialServer, ...position] = progress.part ?? [];
    // The server that was interrupted comes first, so there is never more than one such server.
    const remaining = numbered
      .filter(({ number }) => !hasBit(completedServers, number))
      .sort((a, b) => Number(b.number === partialServer) - Number(a.number === partialServer));
    const items: Item[] = [];
    let chars = 0;
    for (const { number, items: all } of remaining) {
      const from = number === partialServer ? resumeAt(all, position) : 0;
      let at = from;
      for (let item = all[at]; item !== undefined; item = all[at]) {
        const isFull = items.length === this.#pageItems || chars + item.chars > PAGE_CHARS;
        if (isFull && items.length > 0) break;
        items.push(item);
        chars += item.chars;
        at += 1;
      }
      if (at < all.length) {
        // Undefined if the page was full before the first item of this server.
        const last = all[at - 1];
        const part = last === undefined ? undefined : ([number, at, digestOf(last.key)] as const);
        return { items, nextCursor: this.#cursor(kind, { completedServers, part }) };
      }
      // A server without items is not completed: its items may arrive before a later page.
      if (all.length > 0) setBit(completedServers, number);
    }
    return { items, nextCursor: undefined };
  }

  #cursor(kind: ListKind, { completedServers, part }: ListProgress): string {
    return this.#seal.seal(kind, JSON.stringify([completedServers.toString('base64'), part ?? null]));
  }

  #numberOf(server: string): number {
    let number = this.#numbers.get(server);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(server, number);
    }
    return number;
  }
}

const start: ListProgress = { completedServers: Buffer.alloc(0), part: undefined };

/** Parses cursor content, which is sealed and therefore trusted. */
function readProgress(text: string): ListProgress {
  const [completedServers, part] = JSON.parse(text) as [string, ListProgress['part'] | null];
  return { completedServers: Buffer.from(completedServers, 'base64'), part: part ?? undefined };
}

/**
 * Returns the index after the last item sent, even if the item has moved. If the item was removed, returns
 * the number of items sent.
 */
function resumeAt(
  items: readonly { readonly key: string }[],
  [count = 0, mark]: readonly [number?, string?],
) {
  const before = items[count - 1];
  if (before !== undefined && digestOf(before.key) === mark) return count;
  const at = items.findIndex(({ key }) => digestOf(key) === mark);
  return at >= 0 ? at + 1 : Math.min(count, items.length);
}

/** Returns a key's digest, because keys may be long. Its 66 bits identify an item within a server. */
function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 11);
}

/** Returns true if bit `at` is set. Each byte contains eight bits, the lowest first. */
function hasBit(bits: Buffer, at: number): boolean {
  return ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
}

function setBit(bits: Buffer, at: number): void {
  bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
}
