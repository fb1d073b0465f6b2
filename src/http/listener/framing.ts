// Header checks for both fillings: of requests, against request smuggling, where two parties disagree on where a request ends
// (RFC 9112 section 6.3); of answers, against header injection, where a value ends its header early (section 5).
// Neither server checks all of it: uWebSockets.js takes the first of two lengths and lets any coding pass.

import { STATUS_CODES } from 'node:http';
import type { Body, HeaderList } from './seam.ts';

/** A record without prototype; faster to make and to read than Object.create(null). */
export const HeaderRecord = function HeaderRecord() {} as unknown as new () => Record<string, string>;
HeaderRecord.prototype = Object.create(null);

/** Names that most requests have. A record takes a name made anew for each request several times slower than its own. */
const commonNames = new Map(
  [
    ...['host', 'user-agent', 'accept', 'accept-encoding', 'accept-language', 'connection', 'content-type'],
    ...['content-length', 'authorization', 'x-api-key', 'x-mcp-server', 'x-request-id', 'traceparent'],
    ...['mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'origin', 'sec-fetch-mode'],
  ].map((name) => [name, name]),
);

/** Adds one header as received; a repeated one is joined (RFC 9110 section 5.3). `name` is in lower case. */
export function addHeader(headers: Record<string, string>, name: string, value: string): void {
  const key = commonNames.get(name) ?? name;
  const before = headers[key];
  headers[key] = before === undefined ? value : `${before}, ${value}`;
}

/** Whether a Content-Type says JSON, with or without parameters. */
export function isJson(contentType: string): boolean {
  return contentType === 'application/json' || /^application\/json\s*(;|$)/i.test(contentType);
}

/** Why the request must be refused with 400 and its connection closed, or undefined. */
export function framingProblem(path: string, headers: Readonly<Record<string, string>>): string | undefined {
  const length = headers['content-length'];
  const coding = headers['transfer-encoding'];
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    return 'Content-Length must be sent once, as a whole number.';
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return 'The only Transfer-Encoding understood is chunked.';
  if (length !== undefined && coding !== undefined)
    return 'Content-Length and Transfer-Encoding exclude each other.';
  if (headers.host?.includes(',')) return 'Host must be sent once.';
  if (!path.startsWith('/') && path !== '*') return 'The request target must be a path.';
  return undefined;
}

/** Bytes of the body that are announced: Infinity for a chunked one, 0 for none. The framing is in order. */
export function announcedBytes(headers: Readonly<Record<string, string>>): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  const length = headers['content-length'];
  return length === undefined ? 0 : Number(length);
}

const ownHeaders = new Set(['content-length', 'transfer-encoding', 'date', 'connection']);

/** True for headers that the seam writes itself. Looks at the length first: this runs for each header of each answer. */
export function isOwnHeader(name: string): boolean {
  const { length } = name;
  if (length !== 4 && length !== 10 && length !== 14 && length !== 17) return false;
  return ownHeaders.has(name.toLowerCase());
}

/** Names that stand in nearly every answer. */
const usualNames = new Set(['content-type', 'x-request-id', 'mcp-session-id']);

/** Gives true when the answer asks for the connection to be closed. Throws TypeError for what must not be sent. */
export function checkHeaders(headers: HeaderList): boolean {
  let wantsClose = false;
  for (const [name, value] of headers) {
    if (!usualNames.has(name) && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      throw new TypeError(`${JSON.stringify(name)} is no header name`);
    // The value itself stays out of the message: it may be a secret (A9).
    if (!/^[\t -~]*$/.test(value))
      throw new TypeError(`the value of header ${name} is not one line of ASCII`);
    if (name.length === 10 && name.toLowerCase() === 'connection')
      wantsClose ||= value.toLowerCase() === 'close';
  }
  return wantsClose;
}

const statusLines: readonly string[] = Array.from(
  { length: 600 },
  (_, status) => `${status} ${STATUS_CODES[status] ?? 'Unknown'}`,
);

/** `404 Not Found`, for a status that `checkStatus` has passed. */
export function statusLine(status: number): string {
  return statusLines[status] ?? '500 Internal Server Error';
}

/** Throws TypeError for what is no status of a final answer. */
export function checkStatus(status: number): void {
  if (status < 200 || statusLines[status] === undefined)
    throw new TypeError(`${status} is no status of an answer`);
}

/** Answers that never have a body, nor a Content-Length (RFC 9110 section 8.6). */
export function isBodilessStatus(status: number): boolean {
  return status === 204 || status === 304;
}

/** The seam's own answers, given without asking the routes. */
export function plainError(status: number, message: string): string {
  return JSON.stringify({ error: STATUS_CODES[status], message });
}

export const JSON_HEADERS: HeaderList = [['content-type', 'application/json']];

export function isInPieces(body: Body): body is readonly Uint8Array[] {
  return Array.isArray(body);
}
