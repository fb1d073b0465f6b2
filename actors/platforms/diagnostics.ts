// Recent diagnostics per trigger or account for operators, for example a backlog at the platform.
// In memory, newest first, bounded per name and in total.

import { deleteOldest } from '../base/bounds/delete-oldest.ts';

export interface Diagnostic {
  /** Epoch ms. */
  readonly at: number;
  /** Contains no secret. */
  readonly text: string;
}

const MAX_DIAGNOSTICS = 5;
const MAX_NAMES = 1_000;
const MAX_TEXT = 300;

export class Diagnostics {
  readonly #byName = new Map<string, readonly Diagnostic[]>();

  add(name: string, text: string, at = Date.now()): void {
    const previous = this.#byName.get(name) ?? [];
    const shortened = text.slice(0, MAX_TEXT).toWellFormed();
    this.#byName.delete(name);
    this.#byName.set(name, [{ at, text: shortened }, ...previous].slice(0, MAX_DIAGNOSTICS));
    deleteOldest(this.#byName, MAX_NAMES);
  }

  of(name: string): readonly Diagnostic[] {
    return this.#byName.get(name) ?? [];
  }
}
