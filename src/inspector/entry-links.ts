// One-time links to the inspector: whoever opens one gets the operator's cookie. The operator's own commands print them,
// so that nobody has to type a token into a page.
//
// EL1  a link works once, and for a few minutes: it is of no use to a later reader of a terminal or of a history.
// EL2  a bounded number of links is open at a time; the oldest gives way.

import { hash, randomBytes } from 'node:crypto';
import { forgetOldest } from '../../actors/forget-oldest.ts';

export const ENTRY_SECONDS = 300;
const CODE_BYTES = 24;
const MAX_OPEN = 32;
const PATH = '/inspector/enter/';

export class EntryLinks {
  readonly #now: () => number;
  /** When each ends, by the digest of its code. */
  readonly #open = new Map<string, number>();

  /** `now` returns epoch milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Makes a link and returns its path. */
  create(): string {
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#open.set(digest(code), this.#now() + ENTRY_SECONDS * 1000);
    forgetOldest(this.#open, MAX_OPEN);
    return `${PATH}${code}`;
  }

  /** Whether a path is that of a link, open or not. */
  static isAt(path: string): boolean {
    return path.startsWith(PATH);
  }

  /** Uses up the link at a path; true when it was open. */
  use(path: string): boolean {
    const key = digest(path.slice(PATH.length));
    const until = this.#open.get(key);
    this.#open.delete(key);
    return until !== undefined && until > this.#now();
  }
}

const digest = (code: string) => hash('sha256', code, 'base64url');
