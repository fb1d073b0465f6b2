// Logs responses to list requests at /mcp and profiles that lack items of some servers, for example while a
// server starts for the first time. Logs once per set of servers.

import type { Log } from '../../../base/errors/log.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';

const MAX_SERVERS = 100;

export class IncompleteLists {
  readonly #log: Log;
  /** Servers whose items the last response lacked. */
  readonly #reported = new Map<ListKind, readonly string[]>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Records a list response and the servers whose items it lacks. */
  note(kind: ListKind, servers: readonly string[]): void {
    // The same array: the merged list has not changed. This is the usual case.
    if (this.#reported.get(kind) === servers) return;
    const before = this.#reported.get(kind) ?? [];
    this.#reported.set(kind, servers);
    if (servers.length === 0 || servers.join() === before.join()) return;
    const text = 'a list may lack items of these servers; later items are announced';
    this.#log.warn({ list: listKinds[kind].method, servers: servers.slice(0, MAX_SERVERS) }, text);
  }
}
