// Resources that servers named in results for one client, without listing them: links, embedded resources and
// pages of apps (HTML interfaces). They are read from the server that named them first; the same address of
// another server is qualified: it gets the server id (address-form.ts). Limits: MAX_ENTRIES per client, and a
// memory budget for all clients. The oldest are removed first (A8 and A6, ARCHITECTURE.md).

import { type Budget, Share } from '../../../base/bounds/budget.ts';
import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';

const MAX_ENTRIES = 1_000;
/** Memory per entry besides the address, in bytes. */
const ENTRY_BYTES = 160;
/** Longer addresses are not stored. */
const MAX_URI_CHARS = 8_192;
/** Maximum number of parent folders in which a skill (a folder with a SKILL.md) is searched. */
const MAX_PARENTS = 16;
const SKILL = '/SKILL.md';

export class NamedResources {
  readonly #budget: Budget;
  readonly #share = new Share();
  /** Server ids by address, the oldest first. */
  readonly #servers = new Map<string, string>();
  /** Servers with pages (`ui://`) that the client knows from a result, or has used. */
  readonly #appServers = new Set<string>();
  #isClosed = false;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  get size(): number {
    return this.#servers.size;
  }

  /** Returns the server that named the resource, or the skill that contains it. */
  find(uri: string): string | undefined {
    const server = this.#servers.get(uri);
    if (server !== undefined || this.#servers.size === 0) return server;
    // The address may be a skill's folder, or below it.
    let end = uri.length;
    for (let depth = 0; depth < MAX_PARENTS && end > 0; depth += 1) {
      const skill = this.#servers.get(`${uri.slice(0, end)}${SKILL}`);
      if (skill !== undefined) return skill;
      end = uri.lastIndexOf('/', end - 1);
    }
    return undefined;
  }

  /** Records that the server named the resource. */
  add(uri: string, server: string): void {
    if (this.#isClosed || uri.length > MAX_URI_CHARS) return;
    if (uri.startsWith('ui://')) this.noteApp(server);
    this.#remove(uri);
    // Removes this client's oldest entries until the new one fits.
    while (this.#servers.size >= MAX_ENTRIES || !this.#budget.acquire(bytesOf(uri), this.#share)) {
      const [oldest] = this.#servers.keys();
      if (oldest === undefined) return;
      this.#remove(oldest);
    }
    this.#servers.set(uri, server);
  }

  /** Records that the client knows or has used a page of this server. */
  noteApp(server: string): void {
    if (this.#isClosed) return;
    this.#appServers.delete(server);
    this.#appServers.add(server);
    deleteOldest(this.#appServers, MAX_ENTRIES);
  }

  hasApp(server: string): boolean {
    return this.#appServers.has(server);
  }

  /** Removes all entries, and accepts no further entries. */
  close(): void {
    this.#isClosed = true;
    for (const uri of [...this.#servers.keys()]) this.#remove(uri);
    this.#appServers.clear();
  }

  #remove(uri: string): void {
    if (this.#servers.delete(uri)) this.#budget.release(bytesOf(uri), this.#share);
  }
}

/** Returns the memory of an entry. The JavaScript engine may need two bytes per character. */
function bytesOf(uri: string): number {
  return ENTRY_BYTES + 2 * uri.length;
}
