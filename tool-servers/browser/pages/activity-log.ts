// What happened on the pages since the model was last told: navigations, dialogs, downloads, new pages, connections that
// did not come about. Each tool call ends with reading it out. Everything is bounded; what is beyond is only counted.

import type { Trouble } from '../network/loopback-proxy.ts';

const MAX_EACH = 10;
const MAX_TROUBLES = 500;

export class ActivityLog {
  #dialogs = new Notes();
  #downloads = new Notes();
  #pages = new Notes();
  #troubles: Trouble[] = [];
  #hasNavigated = false;

  navigated(): void {
    this.#hasNavigated = true;
  }
  dialog(text: string): void {
    this.#dialogs.add(text);
  }
  download(text: string): void {
    this.#downloads.add(text);
  }
  /** Something about pages or what they asked for, as a whole sentence. */
  page(text: string): void {
    this.#pages.add(text);
  }
  trouble(trouble: Trouble): void {
    if (this.#troubles.length < MAX_TROUBLES) this.#troubles.push(trouble);
  }

  get hasDownload(): boolean {
    return this.#downloads.count > 0;
  }

  /** Why the connection to `authority` did not come about. */
  troubleOf(authority: string): Trouble | undefined {
    return this.#troubles.findLast((each) => each.authority === authority);
  }

  /** The last connection that did not come about; a refusal before others, which may be the browser's own. */
  lastTrouble(): Trouble | undefined {
    return this.#troubles.findLast(({ isRefusal }) => isRefusal) ?? this.#troubles.at(-1);
  }

  /** Everything since the last time, and begins anew. */
  take(): ActivityReport {
    const refused = new Map<string, number>();
    for (const { authority, reason, isRefusal } of this.#troubles) {
      if (!isRefusal) continue;
      const line = `${authority}: ${reason}`;
      if (refused.has(line) || refused.size < MAX_EACH) refused.set(line, (refused.get(line) ?? 0) + 1);
    }
    const pages = {
      hasNavigated: this.#hasNavigated,
      dialogs: this.#dialogs.list(),
      downloads: this.#downloads.list(),
      notes: this.#pages.list(),
      refused: [...refused].map(([line, times]) => (times === 1 ? line : `${line} (${times} times)`)),
    };
    this.#dialogs = new Notes();
    this.#downloads = new Notes();
    this.#pages = new Notes();
    this.#troubles = [];
    this.#hasNavigated = false;
    return pages;
  }
}

export interface ActivityReport {
  readonly hasNavigated: boolean;
  readonly dialogs: string[];
  readonly downloads: string[];
  readonly notes: string[];
  readonly refused: string[];
}

class Notes {
  readonly #kept: string[] = [];
  count = 0;

  add(text: string): void {
    this.count++;
    if (this.#kept.length < MAX_EACH) this.#kept.push(text);
  }

  list(): string[] {
    const more = this.count - this.#kept.length;
    return more === 0 ? [...this.#kept] : [...this.#kept, `and ${more} more`];
  }
}
