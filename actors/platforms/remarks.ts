// What an adapter has found out and an operator may want to know of a trigger or an account: that so much waited at the platform, or
// that it could not deliver. In memory, the newest first, and few of each.

import { forgetOldest } from '../base/bounds/forget-oldest.ts';

export interface Remark {
  /** Epoch ms. */
  readonly at: number;
  /** No secret. */
  readonly text: string;
}

const MAX_REMARKS = 5;
const MAX_NAMES = 1_000;
const MAX_TEXT = 300;

export class Remarks {
  readonly #byName = new Map<string, readonly Remark[]>();

  add(name: string, text: string, at = Date.now()): void {
    const before = this.#byName.get(name) ?? [];
    const cut = text.slice(0, MAX_TEXT).toWellFormed();
    this.#byName.delete(name);
    this.#byName.set(name, [{ at, text: cut }, ...before].slice(0, MAX_REMARKS));
    forgetOldest(this.#byName, MAX_NAMES);
  }

  of(name: string): readonly Remark[] {
    return this.#byName.get(name) ?? [];
  }
}
