// Page events since the last report: navigations, dialogs, downloads, new pages, failed connections. Each
// tool call reports and clears them. The lists are bounded; excess entries are only counted.

import type { FailedConnection } from '../network/loopback-proxy.ts';

const MAX_PER_KIND = 10;
const MAX_FAILURES = 500;

export class ActivityLog {
  #dialogs = new CappedTexts();
  #downloads = new CappedTexts();
  #notes = new CappedTexts();
  #failures: FailedConnection[] = [];
  #hasNavigated = false;

  addNavigation(): void {
    this.#hasNavigated = true;
  }
  addDialog(text: string): void {
    this.#dialogs.add(text);
  }
  addDownload(text: string): void {
    this.#downloads.add(text);
  }
  /** Adds a sentence for the next report, for example about a closed page. */
  addNote(text: string): void {
    this.#notes.add(text);
  }
  addFailure(failure: FailedConnection): void {
    if (this.#failures.length < MAX_FAILURES) this.#failures.push(failure);
  }

  get hasDownload(): boolean {
    return this.#downloads.count > 0;
  }

  /** Returns the last failure to connect to `authority`. */
  failureOf(authority: string): FailedConnection | undefined {
    return this.#failures.findLast((each) => each.authority === authority);
  }

  /**
   * Returns the last connection failure. Prefers refused connections, because the browser itself may cause
   * other failures.
   */
  lastFailure(): FailedConnection | undefined {
    return this.#failures.findLast(({ isRefusal }) => isRefusal) ?? this.#failures.at(-1);
  }

  /** Returns the events since the last report and clears them. */
  take(): ActivityReport {
    const refused = new Map<string, number>();
    for (const { authority, reason, isRefusal } of this.#failures) {
      if (!isRefusal) continue;
      const line = `${authority}: ${reason}`;
      if (refused.has(line) || refused.size < MAX_PER_KIND) refused.set(line, (refused.get(line) ?? 0) + 1);
    }
    const report = {
      hasNavigated: this.#hasNavigated,
      dialogs: this.#dialogs.list(),
      downloads: this.#downloads.list(),
      notes: this.#notes.list(),
      refused: [...refused].map(([line, times]) => (times === 1 ? line : `${line} (${times} times)`)),
    };
    this.#dialogs = new CappedTexts();
    this.#downloads = new CappedTexts();
    this.#notes = new CappedTexts();
    this.#failures = [];
    this.#hasNavigated = false;
    return report;
  }
}

export interface ActivityReport {
  readonly hasNavigated: boolean;
  readonly dialogs: string[];
  readonly downloads: string[];
  readonly notes: string[];
  readonly refused: string[];
}

/** Keeps the first MAX_PER_KIND texts, and counts the rest. */
class CappedTexts {
  readonly #texts: string[] = [];
  count = 0;

  add(text: string): void {
    this.count++;
    if (this.#texts.length < MAX_PER_KIND) this.#texts.push(text);
  }

  list(): string[] {
    const more = this.count - this.#texts.length;
    return more === 0 ? [...this.#texts] : [...this.#texts, `and ${more} more`];
  }
}
