// A remote session's cookies. Load balancers keep a session at one server by a cookie; without the cookie,
// another server receives the request and does not know the session. The cookies belong to one session and
// one origin, so domains are ignored. Parsing is as tolerant as in browsers (RFC 6265, section 5.2), because
// many values contain characters that the grammar for servers forbids.

import { httpDateMs } from '../../../../libs/rest/http-date.ts';
import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';
import type { ResponseHead } from './response-head.ts';

/** Limits per session and per cookie, which is name and value (RFC 6265, section 6.1). */
const MAX_COOKIES = 50;
const MAX_COOKIE_BYTES = 4_096;
/** Limit of all cookies: many servers refuse a header line of more than 8 KiB. */
const MAX_TOTAL_BYTES = 8_000;
const MAX_ATTRIBUTE_BYTES = 1_024;

interface Cookie {
  /** Name and value, as sent. */
  readonly pair: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** Epoch milliseconds; undefined for a cookie that lasts as long as the session. */
  readonly expiresAt: number | undefined;
}

export class SessionCookies {
  /** Cookies by name and path, in the order of the last update. */
  readonly #cookies = new Map<string, Cookie>();

  /** Stores a response's cookies. */
  store(head: ResponseHead, url: URL): void {
    if (head.header('set-cookie') === undefined) return;
    for (const line of head.all('set-cookie')) this.#set(line, url);
  }

  /** Returns the value of the Cookie header for an address; undefined without cookies. */
  headerFor(url: URL): string | undefined {
    if (this.#cookies.size === 0) return undefined;
    const now = Date.now();
    const matches: Cookie[] = [];
    for (const [key, cookie] of this.#cookies) {
      const { path, isSecure, expiresAt } = cookie;
      if (expiresAt !== undefined && expiresAt <= now) this.#cookies.delete(key);
      else if ((!isSecure || url.protocol === 'https:') && isBelow(url.pathname, path)) matches.push(cookie);
    }
    // Servers use the first of several cookies with one name, which belongs to the longest path.
    if (matches.length > 1) matches.sort((a, b) => b.path.length - a.path.length);
    return matches.length === 0 ? undefined : matches.map(({ pair }) => pair).join('; ');
  }

  #set(line: string, url: URL): void {
    const [pair = '', ...attributes] = line.split(';');
    const [name, value] = nameAndValue(pair);
    if (name === '' || value === undefined || name.length + value.length > MAX_COOKIE_BYTES) return;
    // The last of several attributes with one name counts (RFC 6265, section 5.3).
    const known = new Map<string, string>();
    for (const attribute of attributes.map(nameAndValue)) {
      const [attributeName, text = ''] = attribute;
      if (text.length <= MAX_ATTRIBUTE_BYTES) known.set(attributeName.toLowerCase(), text);
    }
    const expiresAt = expiryOf(known.get('max-age'), known.get('expires'));
    const declaredPath = known.get('path');
    const path = declaredPath?.startsWith('/') ? declaredPath : folderOf(url.pathname);
    const key = `${name};${path}`;
    this.#cookies.delete(key);
    if (expiresAt !== undefined && expiresAt <= Date.now()) return;
    this.#cookies.set(key, { pair: `${name}=${value}`, path, isSecure: known.has('secure'), expiresAt });
    deleteOldest(this.#cookies, MAX_COOKIES);
    this.#limitBytes();
  }

  #limitBytes(): void {
    let total = 0;
    for (const { pair } of this.#cookies.values()) total += pair.length + 2;
    for (const [oldest, { pair }] of this.#cookies) {
      if (total <= MAX_TOTAL_BYTES) return;
      this.#cookies.delete(oldest);
      total -= pair.length + 2;
    }
  }
}

/** Splits at the first equals sign. The value is undefined without one. */
function nameAndValue(text: string): readonly [string, string | undefined] {
  const at = text.indexOf('=');
  return at === -1 ? [text.trim(), undefined] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** Returns the expiry in epoch milliseconds. Max-Age has precedence (RFC 6265, section 5.3). */
function expiryOf(maxAge: string | undefined, expires: string | undefined): number | undefined {
  if (maxAge !== undefined && /^-?\d+$/.test(maxAge)) return Date.now() + Number(maxAge) * 1_000;
  const time = httpDateMs(expires ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** Returns the default path for a cookie that has no path (RFC 6265, section 5.1.4). */
function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
