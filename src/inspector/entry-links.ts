// One-time links to the inspector: opening a link sets the operator's cookie. The CLI and the start banner
// print links, so users never type a token into a page.
//
// - A link works once and expires after ENTRY_SECONDS. A reader of an old terminal or history cannot use it.
// - The number of open links is bounded; the oldest is deleted.

import { hash, randomBytes } from 'node:crypto';
import { deleteOldest } from '../../actors/base/bounds/delete-oldest.ts';

export const ENTRY_SECONDS = 300;
const CODE_BYTES = 24;
const MAX_OPEN = 32;
const PATH = '/inspector/enter';
/** Text before the code. The code is in the query, because the path determines the cookie's path (IA2). */
const START = `${PATH}?code=`;

/** Response to POST /inspector/links. */
export interface EntryLink {
  readonly path: string;
  readonly expires_in_seconds: number;
}

export class EntryLinks {
  readonly #now: () => number;
  /** Expiry times of unused links, by the digest of the code. */
  readonly #open = new Map<string, number>();

  /** `now` returns epoch milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Creates a link and returns its path with query. */
  create(): string {
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#open.set(digest(code), this.#now() + ENTRY_SECONDS * 1000);
    deleteOldest(this.#open, MAX_OPEN);
    return `${START}${code}`;
  }

  static isLinkPath(path: string): boolean {
    return path === PATH;
  }

  /** Consumes a link. Returns true if the link was unused and not expired. */
  use(link: string): boolean {
    const key = digest(link.slice(START.length));
    const expiresAt = this.#open.get(key);
    this.#open.delete(key);
    return expiresAt !== undefined && expiresAt > this.#now();
  }
}

const digest = (code: string) => hash('sha256', code, 'base64url');
