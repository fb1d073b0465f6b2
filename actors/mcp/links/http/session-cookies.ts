// A remote session's cookies. Load balancers keep a session at one server by a cookie; without the cookie,
// another server receives the request and does not know the session. The cookies belong to one session and
// one origin, so domains are ignored.

import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';
import type { ResponseHead } from './response-head.ts';

/** Limits per session and per cookie (RFC 6265, section 6.1, has 50 and 4096). */
const MAX_COOKIES = 20;
const MAX_COOKIE_BYTES = 4_096;

const PAIR = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=([\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e"]*)$/;

interface Cookie {
  readonly value: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** Epoch milliseconds; undefined for a cookie that lasts as long as the session. */
  readonly expiresAt: number | undefined;
}

export class SessionCookies {
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
    const pairs: string[] = [];
    for (const [name, { value, path, isSecure, expiresAt }] of this.#cookies) {
      if (expiresAt !== undefined && expiresAt <= now) this.#cookies.delete(name);
      else if ((!isSecure || url.protocol === 'https:') && isBelow(url.pathname, path))
        pairs.push(`${name}=${value}`);
    }
    return pairs.length === 0 ? undefined : pairs.join('; ');
  }

  #set(line: string, url: URL): void {
    if (line.length > MAX_COOKIE_BYTES) return;
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const [, name, value] = PAIR.exec(pair) ?? [];
    if (name === undefined || value === undefined) return;
    // The last of several attributes with one name counts (RFC 6265, section 5.3).
    const attribute = (wanted: string) =>
      attributes.findLast((each) => each.toLowerCase().split('=', 1)[0] === wanted);
    const textOf = (wanted: string) => attribute(wanted)?.slice(wanted.length + 1);
    const expiresAt = expiryOf(textOf('max-age'), textOf('expires'));
    const path = textOf('path');
    this.#cookies.delete(name);
    if (expiresAt !== undefined && expiresAt <= Date.now()) return;
    deleteOldest(this.#cookies, MAX_COOKIES - 1);
    this.#cookies.set(name, {
      value,
      path: path?.startsWith('/') ? path : folderOf(url.pathname),
      isSecure: attribute('secure') !== undefined,
      expiresAt,
    });
  }
}

/** Returns the expiry in epoch milliseconds. Max-Age has precedence (RFC 6265, section 5.3). */
function expiryOf(maxAge: string | undefined, expires: string | undefined): number | undefined {
  if (maxAge !== undefined && /^-?\d{1,12}$/.test(maxAge)) return Date.now() + Number(maxAge) * 1_000;
  const time = Date.parse(expires ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/** Returns the default path for a cookie that has no path (RFC 6265, section 5.1.4). */
function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
