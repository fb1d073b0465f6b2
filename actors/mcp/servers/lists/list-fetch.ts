// Fetches a server's list page by page. The fetch is bounded (A8, ARCHITECTURE.md): it stops at limits of
// pages, total size and cursor length, and at a repeated cursor. Parsing stops when the list is full, because
// parsing blocks all other calls. No page is retained.

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { RepairDraft } from '../../jsonrpc/json-shape.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { refusalOf } from '../calls/parse-result.ts';
import type { Connection } from '../pool/connection.ts';
import { type BoundedList, MAX_ITEMS } from './bounded-list.ts';
import { itemShapes } from './item-schema.ts';
import { type CacheHint, combineHints, type ListKind, listKinds, noCache, readItem } from './lists.ts';

const BRACE = 0x7b;
const BRACKET = 0x5b;
const QUOTE = 0x22;

export const MAX_PAGES = 1000;
/** Maximum total size of the pages. Items are usually the largest part. */
export const MAX_FETCHED_BYTES = 64 * 1024 * 1024;
const MAX_CURSOR_CHARS = 65_536;

/** The server does not implement a list that it has declared. */
export class UnknownListError extends UpstreamProtocolError {}

interface FetchedPage {
  readonly bytes: number;
  /** Undefined on the last page; some servers send an empty cursor there. */
  readonly cursor: string | undefined;
  readonly hint: CacheHint;
}

/**
 * Fetches a list into `list`, which is truncated if a limit is reached. `capabilities` are client
 * capabilities for a modern server. Rejects with a GatewayError.
 */
export async function fetchList(
  connection: Connection,
  kind: ListKind,
  timeoutMs: number,
  list: BoundedList,
  capabilities?: object | undefined,
): Promise<CacheHint> {
  const { method } = listKinds[kind];
  const deadline = performance.now() + timeoutMs;
  const hints: CacheHint[] = [];
  /** Digests of the cursors so far; cursors may be long. */
  const cursorDigests = new Set<string>();
  let cursor: string | undefined;
  let fetchedBytes = 0;
  for (let pages = 1; ; pages += 1) {
    const remainingMs = Math.max(1, deadline - performance.now());
    const params = cursor === undefined ? {} : { cursor };
    const answer = await connection.request(method, params, remainingMs, capabilities);
    const page = takePage(connection, kind, answer, list);
    // Only the combined hint is kept.
    hints.splice(0, hints.length, combineHints([...hints, page.hint]));
    cursor = page.cursor;
    fetchedBytes += page.bytes;
    if (cursor === undefined || list.cut !== undefined) break;
    const digest = createHash('sha256').update(cursor).digest('base64');
    if (cursorDigests.has(digest)) list.cut = 'cycle';
    else if (pages === MAX_PAGES) list.cut = 'too_many';
    else if (fetchedBytes > MAX_FETCHED_BYTES || cursor.length > MAX_CURSOR_CHARS) list.cut = 'too_large';
    if (list.cut !== undefined) break;
    cursorDigests.add(digest);
  }
  return hints[0] ?? noCache;
}

/** Adds the page's items to `list` and returns the other members. Does not retain the page. */
function takePage({ server }: Connection, kind: ListKind, answer: Envelope, list: BoundedList): FetchedPage {
  const { method } = listKinds[kind];
  if (answer.error !== undefined) {
    const refusal = refusalOf(server, method, answer);
    const error = answer.parse(answer.error) as { code?: unknown } | null;
    throw error?.code === rpcCodes.methodNotFound ? new UnknownListError(refusal.message) : refusal;
  }
  const { bytes, result } = answer;
  const scanner = new JsonScanner(bytes, result?.start);
  if (scanner.peek() !== BRACE)
    throw new UpstreamProtocolError(
      `server ${server} answered ${method} with a result that is not an object`,
    );
  const rest: Record<string, unknown> = {};
  let hasList = false;
  try {
    scanner.object(1, (member) => {
      // The array has the name of the kind, such as `tools`.
      if (member === kind && scanner.peek() === BRACKET) {
        hasList = true;
        takeItems(scanner, kind, list);
        return;
      }
      const start = scanner.pos;
      scanner.value(2);
      if (pageMembers.has(member)) rest[member] = scalar(bytes, start, scanner.pos);
    });
  } catch (error) {
    if (!(error instanceof StopParsing)) throw error;
  }
  if (!hasList) list.unreadable.add('the list', 'omitted', () => [`${kind} is not an array`]);
  const { nextCursor, ...hint } = rest;
  return {
    bytes: bytes.length,
    cursor: typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : undefined,
    hint: hintOf(hint),
  };
}

/** Thrown to stop parsing when the list accepts no more items. */
class StopParsing extends Error {}

/** Reads the page's items into `list`. Throws StopParsing if the list is truncated. */
function takeItems(scanner: JsonScanner, kind: ListKind, list: BoundedList): void {
  let count = 0;
  scanner.array(2, () => {
    count += 1;
    const { pos: start } = scanner;
    const item = readItem(scanner, kind);
    const isText = isUtf8(scanner.bytes.subarray(start, scanner.pos));
    // An item is usable unless decoding has changed its key, which the server would not recognise.
    const isReadable = item !== undefined && (isText || !item.key.includes('\ufffd'));
    if (!isReadable)
      list.unreadable.add(item?.key ?? `item ${count}`, 'omitted', () =>
        isText ? faultsAt(scanner.bytes, start, scanner.pos, kind) : [NOT_UTF8],
      );
    else if (!isText) list.unreadable.add(item.key, 'repaired', () => [NOT_UTF8]);
    if (isReadable) list.add(item);
    // The list is cut also if it has too many unusable elements.
    else if (count > MAX_ITEMS) list.cut ??= 'too_many';
    if (list.cut !== undefined) throw new StopParsing();
  });
}

const NOT_UTF8 = 'it is not valid UTF-8';

function faultsAt(bytes: Buffer, start: number, end: number, kind: ListKind): readonly string[] {
  const draft = new RepairDraft(bytes);
  itemShapes.legacy[kind].repair(draft, { start, end });
  return draft.faults;
}

const pageMembers = new Set(['nextCursor', 'ttlMs', 'cacheScope']);

/** Parses text or a number; undefined for other values. */
function scalar(bytes: Buffer, start: number, end: number): unknown {
  if (bytes[start] === QUOTE) return textOf(bytes, start, end);
  const number = end - start > 32 ? Number.NaN : Number(bytes.toString('latin1', start, end));
  return Number.isNaN(number) ? undefined : number;
}

function hintOf({ ttlMs, cacheScope }: Record<string, unknown>): CacheHint {
  const isTime = typeof ttlMs === 'number' && Number.isFinite(ttlMs) && ttlMs > 0;
  return { ttlMs: isTime ? Math.floor(ttlMs) : 0, scope: cacheScope === 'public' ? 'public' : 'private' };
}
