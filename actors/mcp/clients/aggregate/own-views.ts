// Merged lists (views) for clients to which servers list other items than those in the server cache: clients
// with extensions, and sessions with processes that changed their lists. Clients with equal lists share a
// view. Up to MAX_VIEWS are cached (A8, ARCHITECTURE.md); a further one is rebuilt for each list request.

import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';
import type { CallOwner } from '../../servers/calls/owner.ts';
import type { ListSet } from '../../servers/lists/own-lists.ts';
import type { ListClient, ManagedServer } from '../../servers/managed-server.ts';
import type { Aggregate } from './aggregate.ts';

const MAX_VIEWS = 16;

export class OwnViews {
  readonly #all: Aggregate;
  /** Views by the versions of their lists, the least recently used first. */
  readonly #views = new Map<string, Aggregate>();

  constructor(all: Aggregate) {
    this.#all = all;
  }

  /** Returns the view of this client. `owner` is the session to which its private connections belong. */
  find(client: ListClient | undefined, owner: CallOwner | undefined): Aggregate {
    if (client === undefined) return this.#all;
    let ownLists: Map<ManagedServer, ListSet> | undefined;
    for (const server of this.#all.servers()) {
      const { cache } = server;
      // The server lists the same items to all clients.
      if (cache.own.isEmpty) continue;
      const lists = server.listsFor(client, owner);
      if (lists !== cache) ownLists = (ownLists ?? new Map()).set(server, lists);
    }
    if (ownLists === undefined) return this.#all;
    const key = [...ownLists].map(([{ id }, { version }]) => `${id} ${version}`).join('\n');
    const view = this.#views.get(key) ?? this.#all.withLists(ownLists);
    this.#views.delete(key);
    this.#views.set(key, view);
    deleteOldest(this.#views, MAX_VIEWS);
    return view;
  }
}
