// One-time links to the inspector: opening a link sets the operator's cookie. The CLI and the start banner print them, so
// users never type a token into a page.
//
// - a link works once and expires after ENTRY_SECONDS, so it is useless to later readers of terminals and histories.
// - the number of open links is bounded; the oldest is dropped.

import { hash, randomBytes } from 'node:crypto';
import { forgetOldest } from '../../actors/base/bounds/forget-oldest.ts';

export const ENTRY_SECONDS = 300;
const CODE_BYTES = 24;
const MAX_OPEN = 32;
const PATH = '/inspector/enter/';

/** Response to POST /inspector/links. */
export interface EntryLink {
  readonly path: string;
  readonly expires_in_seconds: number;
}

export class EntryLinks {
  readonly #now: () => number;
  /** Expiry by the digest of the code. */
  readonly #open = new Map<string, number>();

  /** `now` returns epoch milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Creates a link and returns its path. */
  create(): string {
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#open.set(digest(code), this.#now() + ENTRY_SECONDS * 1000);
    forgetOldest(this.#open, MAX_OPEN);
    return `${PATH}${code}`;
  }

  /** Tests if the path is a link path. */
  static isAt(path: string): boolean {
    return path.startsWith(PATH);
  }

  /** Consumes the link at a path; true if it was open. */
  use(path: string): boolean {
    const key = digest(path.slice(PATH.length));
    const until = this.#open.get(key);
    this.#open.delete(key);
    return until !== undefined && until > this.#now();
  }
}

const digest = (code: string) => hash('sha256', code, 'base64url');
