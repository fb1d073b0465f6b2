// The pages of a merged list. A cursor does not hold a position in the whole list, but which servers the client has seen
// whole, and how much of the one at which the page ended. So a change of other servers does not move it.
//
// LP1  whoever follows the cursors to the end is given each item of a server exactly once, in order, if that server and
//     its list stay the same meanwhile, whatever is added, taken out, changed or moved around it. An item is a
//     server's item: of two servers with the same uri each counts for itself.
// LP2  there is a cursor exactly when there is more, so that a walk ends as soon as nothing is left.
// LP3  a cursor is short: one bit for each server there ever was, and one place.
// LP4 (A8)  a page has at most PAGE_ITEMS items, and no more text than PAGE_CHARS, or one item.

import { createHash } from 'node:crypto';
import type { ListKind } from '../../servers/lists/lists.ts';
import { CursorSeal } from './cursor.ts';

/** Most catalogs fit on one page, which is then the same bytes for everybody. */
export const PAGE_ITEMS = 1000;
/** A page is one message; many clients cannot take larger ones. */
const PAGE_CHARS = 4 * 1024 * 1024;

/** What one server adds to the list. */
export interface ServerItems<Item> {
  readonly server: string;
  readonly items: readonly Item[];
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | undefined;
}

interface Listed {
  readonly key: string;
  /** Characters of its text. */
  readonly chars: number;
}

/** How far a walk has come. */
interface Place {
  /** Bit n: the server with number n has been seen whole. */
  readonly done: Buffer;
  /** The number of the server that is seen in part, how many of its items are, and the mark of the last of them. */
  readonly part: readonly [server: number, count: number, mark: string] | undefined;
}

export class ListPages {
  readonly #pageItems: number;
  readonly #seal = new CursorSeal();
  /** By id, for as long as the process lives: ids are few and short, and cursors hold the numbers. */
  readonly #numbers = new Map<string, number>();

  constructor(pageItems: number = PAGE_ITEMS) {
    this.#pageItems = pageItems;
  }

  /** The page at a cursor, or the first. Throws RpcFault -32602 for what is no cursor of this kind of list. */
  page<Item extends Listed>(kind: ListKind, list: readonly ServerItems<Item>[], cursor?: string): Page<Item> {
    const place = cursor === undefined ? start : readPlace(this.#seal.open(kind, cursor));
    const numbered = list.map((one) => ({ ...one, number: this.#numberOf(one.server) }));
    const done = Buffer.alloc(Math.ceil(this.#numbers.size / 8));
    place.done.copy(done);
    const [partly, ...seen] = place.part ?? [];
    // Whoever was left in the middle goes on first, so that there is never a second one like it.
    const open = numbered
      .filter(({ number }) => !hasBit(done, number))
      .sort((a, b) => Number(b.number === partly) - Number(a.number === partly));
    const items: Item[] = [];
    let chars = 0;
    for (const { number, items: all } of open) {
      const from = number === partly ? resumeAt(all, seen) : 0;
      let at = from;
      for (let item = all[at]; item !== undefined; item = all[at]) {
        const isFull = items.length === this.#pageItems || chars + item.chars > PAGE_CHARS;
        if (isFull && items.length > 0) break;
        items.push(item);
        chars += item.chars;
        at += 1;
      }
      if (at < all.length) {
        const last = all[at - 1];
        const part = last === undefined ? undefined : ([number, at, markOf(last.key)] as const);
        return { items, nextCursor: this.#cursor(kind, { done, part }) };
      }
      // A server that nothing is known of yet may still have something to show on a later page.
      if (all.length > 0) setBit(done, number);
    }
    return { items, nextCursor: undefined };
  }

  #cursor(kind: ListKind, { done, part }: Place): string {
    return this.#seal.seal(kind, JSON.stringify([done.toString('base64'), part ?? null]));
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

const start: Place = { done: Buffer.alloc(0), part: undefined };

/** The text is our own: it was sealed. */
function readPlace(text: string): Place {
  const [done, part] = JSON.parse(text) as [string, Place['part'] | null];
  return { done: Buffer.from(done, 'base64'), part: part ?? undefined };
}

/** Behind the item last seen, wherever it stands now; if it is gone, behind as many as were seen. */
function resumeAt(
  items: readonly { readonly key: string }[],
  [count = 0, mark]: readonly [number?, string?],
) {
  const before = items[count - 1];
  if (before !== undefined && markOf(before.key) === mark) return count;
  const at = items.findIndex(({ key }) => markOf(key) === mark);
  return at >= 0 ? at + 1 : Math.min(count, items.length);
}

/** Keys may be long; 64 bits are enough to know one again among those of a server. */
function markOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 11);
}

function hasBit(bits: Buffer, at: number): boolean {
  return ((bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
}

function setBit(bits: Buffer, at: number): void {
  bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
}
