// Fetches a list from its server, page by page. A page is given up as soon as its items are taken.
//
// FL1 (A8)  a list that has no end, or pages that are something else than items, end the fetch: by the number of pages,
//           by the bytes of all pages, by the length of a cursor, or by a cursor that was there before.
// FL2 (A6)  a page is gone over no further than its list is taken: beyond that it would only hold up everybody's calls.

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { Draft } from '../../jsonrpc/json-shape.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { refusalOf } from '../calls/result-of.ts';
import type { Connection } from '../pool/connection.ts';
import { type BoundedList, MAX_ITEMS } from './bounded-list.ts';
import { itemShapes } from './item-schema.ts';
import { type CacheHint, type ListKind, listKinds, noCache, readItem, strictest } from './lists.ts';

export const MAX_PAGES = 1000;
/** Of all pages together: few servers wrap their items in more than they are. */
export const MAX_FETCHED_BYTES = 64 * 1024 * 1024;
const MAX_CURSOR_CHARS = 65_536;

/** The server has no such list, although it has said so. */
export class UnknownListError extends UpstreamProtocolError {}

interface Page {
  readonly bytes: number;
  readonly cursor: string | undefined;
  readonly hint: CacheHint;
}

/** Fetches one list whole into `hold`, which is cut where it ends before the list does. Rejects with a GatewayError. */
export async function fetchList(
  connection: Connection,
  kind: ListKind,
  timeoutMs: number,
  held: BoundedList,
): Promise<CacheHint> {
  const { method } = listKinds[kind];
  const deadline = performance.now() + timeoutMs;
  const hints: CacheHint[] = [];
  /** Digests of the cursors so far: cursors may be long. */
  const seen = new Set<string>();
  let cursor: string | undefined;
  let fetched = 0;
  for (let pages = 1; ; pages += 1) {
    const leftMs = Math.max(1, deadline - performance.now());
    const params = cursor === undefined ? {} : { cursor };
    const page = takePage(connection, kind, await connection.request(method, params, leftMs), held);
    hints.splice(0, hints.length, strictest([...hints, page.hint]));
    cursor = page.cursor;
    fetched += page.bytes;
    if (cursor === undefined || held.cut !== undefined) break;
    const digest = createHash('sha256').update(cursor).digest('base64');
    if (seen.has(digest)) held.cut = 'cycle';
    else if (pages === MAX_PAGES) held.cut = 'too_many';
    else if (fetched > MAX_FETCHED_BYTES || cursor.length > MAX_CURSOR_CHARS) held.cut = 'too_large';
    if (held.cut !== undefined) break;
    seen.add(digest);
  }
  return hints[0] ?? noCache;
}

/** Takes the items of a page, and gives what else is needed of it: nothing of the page is held afterwards. */
function takePage({ server }: Connection, kind: ListKind, answer: Envelope, held: BoundedList): Page {
  const { method } = listKinds[kind];
  if (answer.error !== undefined) {
    const refusal = refusalOf(server, method, answer);
    const error = answer.parse(answer.error) as { code?: unknown } | null;
    throw error?.code === rpcCodes.methodNotFound ? new UnknownListError(refusal.message) : refusal;
  }
  const { bytes, result } = answer;
  const scanner = new JsonScanner(bytes, result?.start);
  if (scanner.peek() !== 0x7b)
    throw new UpstreamProtocolError(`server ${server} answered ${method} with a result that is no object`);
  const rest: Record<string, unknown> = {};
  let hasList = false;
  try {
    scanner.object(1, (member) => {
      if (member === kind && scanner.peek() === 0x5b) {
        hasList = true;
        takeItems(scanner, kind, held);
        return;
      }
      const start = scanner.pos;
      scanner.value(2);
      if (pageMembers.has(member)) rest[member] = scalar(bytes, start, scanner.pos);
    });
  } catch (error) {
    if (!(error instanceof Enough)) throw error;
  }
  if (!hasList) held.unreadable.add('the list', 'omitted', () => [`${kind} is not an array`]);
  const { nextCursor, ...hint } = rest;
  return {
    bytes: bytes.length,
    cursor: typeof nextCursor === 'string' ? nextCursor : undefined,
    hint: hintOf(hint),
  };
}

/** Nothing more of the page is wanted (FL2). */
class Enough extends Error {}

/** Throws Enough where the list is cut off. */
function takeItems(scanner: JsonScanner, kind: ListKind, held: BoundedList): void {
  let count = 0;
  scanner.array(2, () => {
    count += 1;
    const { pos: start } = scanner;
    const item = readItem(scanner, kind);
    const isText = isUtf8(scanner.bytes.subarray(start, scanner.pos));
    // The server does not know a key with replaced bytes.
    const isReadable = item !== undefined && (isText || !item.key.includes('\ufffd'));
    if (!isReadable)
      held.unreadable.add(item?.key ?? `item ${count}`, 'omitted', () =>
        isText ? faultsAt(scanner.bytes, start, scanner.pos, kind) : [NOT_UTF8],
      );
    else if (!isText) held.unreadable.add(item.key, 'repaired', () => [NOT_UTF8]);
    if (isReadable) held.add(item);
    // The number of unreadable elements is limited as well.
    else if (count > MAX_ITEMS) held.cut ??= 'too_many';
    if (held.cut !== undefined) throw new Enough();
  });
}

const NOT_UTF8 = 'it is not valid UTF-8';

function faultsAt(bytes: Buffer, start: number, end: number, kind: ListKind): readonly string[] {
  const draft = new Draft(bytes);
  itemShapes.legacy[kind].repair(draft, { start, end });
  return draft.faults;
}

const pageMembers = new Set(['nextCursor', 'ttlMs', 'cacheScope']);

/** A text or a number; anything else is of no meaning here. */
function scalar(bytes: Buffer, start: number, end: number): unknown {
  if (bytes[start] === 0x22) return textOf(bytes, start, end);
  const number = end - start > 32 ? Number.NaN : Number(bytes.toString('latin1', start, end));
  return Number.isNaN(number) ? undefined : number;
}

function hintOf({ ttlMs, cacheScope }: Record<string, unknown>): CacheHint {
  const isTime = typeof ttlMs === 'number' && Number.isFinite(ttlMs) && ttlMs > 0;
  return { ttlMs: isTime ? Math.floor(ttlMs) : 0, scope: cacheScope === 'public' ? 'public' : 'private' };
}
