// Fetches lists for some clients only (own-lists.ts). A list that the server fails to return is missing in
// the result. Never rejects.

import type { Connection } from '../pool/connection.ts';
import type { ListBudget } from './bounded-list.ts';
import { fetchList } from './list-fetch.ts';
import { type ListKind, listKinds } from './lists.ts';
import type { FetchedList, FetchedLists } from './own-lists.ts';

export interface OwnListsRequest {
  readonly connection: Connection;
  readonly kinds: readonly ListKind[];
  readonly timeoutMs: number;
  /** Client capabilities for a modern server. A legacy server received them in the handshake. */
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined;
}

export async function fetchOwnLists(
  { connection, kinds, timeoutMs, capabilities }: OwnListsRequest,
  budget: ListBudget,
  onProblem: (message: string) => void,
): Promise<FetchedLists> {
  const declared = connection.description?.capabilities ?? {};
  const fetched: Partial<Record<ListKind, FetchedList>> = {};
  await Promise.all(
    kinds.map(async (kind) => {
      if (declared[listKinds[kind].capability] === undefined) return;
      const list = budget.newList();
      try {
        const hint = await fetchList(connection, kind, timeoutMs, list, capabilities);
        fetched[kind] = { items: list.items, cut: list.cut, hint };
      } catch (error) {
        // Many servers declare resources without implementing templates.
        if (kind !== 'resourceTemplates')
          onProblem(`${listKinds[kind].method} failed: ${(error as Error).message}`);
      }
      // The set that stores the items reserves their memory.
      list.release();
    }),
  );
  return fetched;
}
