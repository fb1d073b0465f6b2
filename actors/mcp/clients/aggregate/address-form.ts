// Resource addresses for clients of several servers (/mcp, /mcp/@NAME). If two servers have a resource with
// the same address, the first server in the catalog keeps the address. The address at the other server is
// qualified with the server id: `ui://view.html` of server `two` becomes `ui://two~/view.html`. The scheme
// remains, as MCP Apps requires, and relative references still resolve. A server address that already has
// this form is qualified too, so the form is unambiguous.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { JsonScanner, textOf } from '../../jsonrpc/json-scanner.ts';
import { memberOf, membersOf } from '../../jsonrpc/members.ts';
import { rawJson, replaceSpan, type Span, toBuffer } from '../../jsonrpc/span.ts';
import { itemJson, type ListItem, readItem } from '../../servers/lists/lists.ts';

/** Byte of `"`. */
const QUOTE = 0x22;

/** Ends the server id; no id contains it. */
const MARK = '~/';
/** Maximum length of server ids. */
const MAX_ID_LENGTH = 64;
/** Scheme and the slashes after it. */
const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/)?/;
/** Schemes of addresses that mean the same resource for every client. Clients may fetch it directly. */
const globalScheme = /^(?:https?|wss?|data|urn):/i;

/** An address with the server that it belongs to. */
interface QualifiedAddress {
  readonly server: string;
  readonly uri: string;
}

/** Returns the address with the server id; undefined if the address is global or has no scheme. */
export function qualify(server: string, uri: string): string | undefined {
  const [head] = scheme.exec(uri) ?? [];
  if (head === undefined || globalScheme.test(uri)) return undefined;
  return `${head}${server}${MARK}${uri.slice(head.length)}`;
}

/** Splits a qualified address; undefined for other addresses. The server may be unknown. */
export function readQualified(uri: string): QualifiedAddress | undefined {
  const [head] = scheme.exec(uri) ?? [];
  if (head === undefined) return undefined;
  const end = uri.indexOf(MARK, head.length);
  if (end <= head.length || end > head.length + MAX_ID_LENGTH) return undefined;
  const server = uri.slice(head.length, end);
  return server.includes('/') ? undefined : { server, uri: head + uri.slice(end + MARK.length) };
}

/** Returns the scheme including the colon, in lower case; '' if there is none. */
export function schemeOf(uri: string): string {
  return /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(uri)?.[0].toLowerCase() ?? '';
}

/**
 * Members of a tool's `_meta` that name a page (the HTML interface of an app): in the first form of MCP Apps,
 * and in the Apps SDK. MCP Apps now uses `ui.resourceUri`.
 */
const flatPageMembers = new Set(['ui/resourceUri', 'openai/outputTemplate']);
const pageMember = /resourceUri|openai\/outputTemplate/;

/** Returns the addresses in `_meta` at `span`, with quotes. */
export function pageSpans(bytes: Buffer, meta: Span | undefined): Span[] {
  const spans: Span[] = [];
  for (const { key, value } of membersOf(bytes, meta)) {
    const address = key === 'ui' ? memberOf(bytes, value, 'resourceUri') : value;
    if ((key === 'ui' || flatPageMembers.has(key)) && address !== undefined && bytes[address.start] === QUOTE)
      spans.push(address);
  }
  return spans;
}

/** Returns the pages that a tool names: usually none, which is found without parsing the tool. */
export function pagesOf(item: ListItem): readonly string[] {
  return spansIn(item).map(({ bytes, span }) => textOf(bytes, span.start, span.end));
}

/** Returns the tool with changed page addresses; the same object if none changes. */
export function withPages(item: ListItem, rename: (uri: string) => string): ListItem {
  const pageAddresses = spansIn(item);
  const [first] = pageAddresses;
  if (first === undefined) return item;
  const edits = pageAddresses.flatMap(({ bytes, span }) => {
    const uri = textOf(bytes, span.start, span.end);
    const name = rename(uri);
    return name === uri ? [] : [replaceSpan(span, rawJson(name))];
  });
  if (edits.length === 0) return item;
  return readItem(new JsonScanner(toBuffer(applyEdits(first.bytes, edits))), 'tools') ?? item;
}

/** Returns the positions of the page addresses in a tool's JSON: the texts `before` and `after` its name. */
function spansIn(item: ListItem): { readonly bytes: Buffer; readonly span: Span }[] {
  if (!pageMember.test(item.after) && !pageMember.test(item.before)) return [];
  const bytes = Buffer.from(itemJson(item), 'utf8');
  const meta = memberOf(bytes, { start: 0, end: bytes.length }, '_meta');
  return pageSpans(bytes, meta).map((span) => ({ bytes, span }));
}

/** Returns true if the tool may be called by an app: by default, and if its visibility contains `app`. */
export function isForApps(item: ListItem): boolean {
  // The JSON around the tool's name. Most tools have no visibility and are not parsed.
  if (!item.after.includes('"visibility"') && !item.before.includes('"visibility"')) return true;
  const { _meta: meta } = JSON.parse(itemJson(item)) as { _meta?: { ui?: { visibility?: unknown } } | null };
  const visibility = meta?.ui?.visibility;
  return !Array.isArray(visibility) || visibility.includes('app');
}
