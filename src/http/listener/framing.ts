// Header checks for both listener implementations, because neither HTTP server checks all of this. Requests:
// against request smuggling, where two parties disagree about the length of requests (RFC 9112 section 6.3).
// Responses: against header injection, where a value contains a line break (section 5).

import { STATUS_CODES } from 'node:http';
import type { Body, HeaderList } from './seam.ts';

/** Record without prototype, like Object.create(null), but faster. */
export const HeaderRecord = function HeaderRecord() {} as unknown as new () => Record<string, string>;
HeaderRecord.prototype = Object.create(null);

/** Common header names as the same string objects: new strings would make records several times slower. */
const commonNames = new Map(
  [
    ...['host', 'user-agent', 'accept', 'accept-encoding', 'accept-language', 'connection', 'content-type'],
    ...['content-length', 'authorization', 'x-api-key', 'x-mcp-server', 'x-request-id', 'traceparent'],
    ...['mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'origin', 'sec-fetch-mode'],
  ].map((name) => [name, name]),
);

/** Adds a header. Joins the values of repeated headers (RFC 9110 section 5.3). `name` is in lower case. */
export function addHeader(headers: Record<string, string>, name: string, value: string): void {
  const key = commonNames.get(name) ?? name;
  const previousValue = headers[key];
  headers[key] = previousValue === undefined ? value : `${previousValue}, ${value}`;
}

/** Returns true for the JSON content type, with or without parameters. */
export function isJson(contentType: string): boolean {
  return contentType === 'application/json' || /^application\/json\s*(;|$)/i.test(contentType);
}

/** Returns why a request must be refused, with 400 and a closed connection; undefined for a valid request. */
export function framingProblem(path: string, headers: Readonly<Record<string, string>>): string | undefined {
  const length = headers['content-length'];
  const coding = headers['transfer-encoding'];
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    return 'Content-Length must be sent once, as a whole number.';
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return 'Transfer-Encoding must be chunked.';
  if (length !== undefined && coding !== undefined)
    return 'Content-Length and Transfer-Encoding exclude each other.';
  if (headers.host?.includes(',')) return 'Host must be sent once.';
  if (!path.startsWith('/') && path !== '*') return 'The request target must be a path.';
  return undefined;
}

/** Returns true if the body has a content coding, such as gzip. */
export function isEncoded({ 'content-encoding': coding }: Readonly<Record<string, string>>): boolean {
  return coding !== undefined && coding.trim().toLowerCase() !== 'identity';
}

/** Returns the length of the body in bytes; Infinity for a chunked body. Requires valid framing. */
export function bodyLengthOf(headers: Readonly<Record<string, string>>): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  const length = headers['content-length'];
  return length === undefined ? 0 : Number(length);
}

const managedHeaders = new Set(['content-length', 'transfer-encoding', 'date', 'connection']);

/** Returns true for headers that the listener writes itself. Checks the length first, for speed. */
export function isManagedHeader(name: string): boolean {
  const { length } = name;
  if (length !== 4 && length !== 10 && length !== 14 && length !== 17) return false;
  return managedHeaders.has(name.toLowerCase());
}

/** Names in nearly all responses, known to be valid. */
const usualNames = new Set(['content-type', 'x-request-id', 'mcp-session-id']);

/** Returns true if the response closes the connection. Throws TypeError if a header is invalid. */
export function checkHeaders(headers: HeaderList): boolean {
  let wantsClose = false;
  for (const [name, value] of headers) {
    if (!usualNames.has(name) && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      throw new TypeError(`${JSON.stringify(name)} is not a header name`);
    // The message omits the value, which can be a secret (A9, ARCHITECTURE.md).
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

/** Returns `404 Not Found`, for a status accepted by `checkStatus`. */
export function statusLine(status: number): string {
  return statusLines[status] ?? '500 Internal Server Error';
}

/** Throws TypeError if a final response cannot have this status. */
export function checkStatus(status: number): void {
  if (status < 200 || statusLines[status] === undefined)
    throw new TypeError(`${status} is not a response status`);
}

/** Returns true for statuses whose responses have no body and no Content-Length (RFC 9110 section 8.6). */
export function isBodilessStatus(status: number): boolean {
  return status === 204 || status === 304;
}

/** Returns the body for the listener's own error responses. */
export function plainError(status: number, message: string): string {
  return JSON.stringify({ error: STATUS_CODES[status], message });
}

export const JSON_HEADERS: HeaderList = [['content-type', 'application/json']];

export function isInPieces(body: Body): body is readonly Uint8Array[] {
  return Array.isArray(body);
}
