// Records of client sessions in the shared store, so that the remaining nodes can continue the sessions of a
// lost node. A row contains the instance id of its node, and only this node changes the row. To take over a
// session, a node writes its own instance id. If several nodes try, the row version lets only one succeed.
// Any node may delete rows.

import type { SessionOwnerNode, SessionStorage } from '../mcp/clients/sessions/stored-sessions.ts';
import type { Member } from '../store/membership.ts';
import type { Store } from '../store/store.ts';
import type { ClusterNodeState } from './node-list.ts';

/** Key space of the rows in the store. */
const SPACE = 'session';
const TTL_MS = 30 * 86_400_000;
/** Maximum attempts to take a session over. */
const MAX_ATTEMPTS = 3;

interface Row {
  readonly node: string;
  readonly text: string;
}

export interface SessionRowsOptions {
  readonly store: Pick<Store, 'get' | 'put' | 'delete'>;
  /** Instance id of this process. */
  readonly instance: string;
  memberOf(instance: string): Member | undefined;
}

export class SessionRows implements SessionStorage {
  readonly #options: SessionRowsOptions;

  constructor(options: SessionRowsOptions) {
    this.#options = options;
  }

  /** None: a new process owns no rows. */
  entries(): Iterable<readonly [key: string, text: string]> {
    return [];
  }

  /**
   * Returns the record, and takes the session over if its node is lost. `gone` is a node that has certainly
   * exited, even if it is still a member. Returns the node if it still serves the session.
   */
  async find(key: string, gone?: string): Promise<string | SessionOwnerNode | undefined> {
    const { store, instance } = this.#options;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const value = await store.get(SPACE, key);
      if (value === undefined) return undefined;
      const row = parseRow(value.value);
      // StoredSessions reports a damaged record.
      if (row === undefined) return value.value;
      const { node, text } = row;
      if (node === instance) return text;
      if (node !== gone && this.#isServing(node)) return { instance: node };
      if (await this.#replace(key, text, value.version)) return text;
    }
    return undefined;
  }

  async put(key: string, text: string, isNew: boolean): Promise<void> {
    const { store, instance } = this.#options;
    if (isNew) {
      await store.put(SPACE, key, rowText(instance, text), { ttlMs: TTL_MS, ifAbsent: true });
      return;
    }
    const value = await store.get(SPACE, key);
    if (value === undefined || parseRow(value.value)?.node !== instance) return;
    await this.#replace(key, text, value.version);
  }

  delete(key: string): Promise<void> {
    return this.#options.store.delete(SPACE, key);
  }

  #replace(key: string, text: string, ifVersion: number): Promise<boolean> {
    const { store, instance } = this.#options;
    return store.put(SPACE, key, rowText(instance, text), { ttlMs: TTL_MS, ifVersion });
  }

  /** Returns true for a member that accepts new requests. */
  #isServing(instance: string): boolean {
    const member = this.#options.memberOf(instance);
    return member !== undefined && member.about.state !== ('draining' satisfies ClusterNodeState);
  }
}

function rowText(node: string, text: string): string {
  return JSON.stringify({ node, text } satisfies Row);
}

/** Returns undefined for a damaged row. */
function parseRow(text: string): Row | undefined {
  try {
    const { node, text: record } = JSON.parse(text) as Partial<Record<keyof Row, unknown>>;
    return typeof node === 'string' && typeof record === 'string' ? { node, text: record } : undefined;
  } catch {
    return undefined;
  }
}
