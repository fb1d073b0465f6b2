// Says in the log that a list was given without all that its servers may have: once, as long as they are the same servers.

import type { Log } from '../../../base/errors/log.ts';
import { type ListKind, listKinds } from '../../servers/lists/lists.ts';

const MAX_NAMED = 100;

export class IncompleteLists {
  readonly #log: Log;
  /** The servers that lists were given without last. */
  readonly #known = new Map<ListKind, readonly string[]>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** A list was given without all that these servers may have; none where it was whole. */
  note(kind: ListKind, servers: readonly string[]): void {
    if (this.#known.get(kind) === servers) return;
    const before = this.#known.get(kind) ?? [];
    this.#known.set(kind, servers);
    if (servers.length === 0 || servers.join() === before.join()) return;
    const what = 'a list was given without all that these servers may have; what comes later is announced';
    this.#log.warn({ list: listKinds[kind].method, servers: servers.slice(0, MAX_NAMED) }, what);
  }
}
