// The named resources (in results but in no list; named-resources.ts) per client of /mcp and of profiles.
// Each session has its own. Sessionless clients of one principal (verified sender) share them, because
// nothing else identifies the clients; up to MAX_PRINCIPALS principals are stored (A8, ARCHITECTURE.md).

import { Budget } from '../../../base/bounds/budget.ts';
import { NamedResources } from '../aggregate/named-resources.ts';
import type { ClientRequest } from '../routed-request.ts';

/** Memory budget for all clients' named resources, in bytes. */
const TOTAL_BYTES = 32 * 1024 * 1024;
const MAX_PRINCIPALS = 1_000;

export class KnownClients {
  readonly #budget = new Budget(TOTAL_BYTES);
  /** By principal, the least recently used first. */
  readonly #byPrincipal = new Map<string, NamedResources>();

  /** Returns the resources that servers named for the client of this request. */
  of({
    session,
    caller,
    principal,
  }: Pick<ClientRequest, 'session' | 'caller' | 'principal'>): NamedResources {
    if (session !== undefined) {
      session.namedResources ??= new NamedResources(this.#budget);
      // A request may outlive its session. Closed resources accept no entries, so no memory remains in use.
      if (session.isEnded) session.namedResources.close();
      return session.namedResources;
    }
    // '' means all clients without authentication.
    const key = caller?.principal ?? principal ?? '';
    const named = this.#byPrincipal.get(key) ?? new NamedResources(this.#budget);
    this.#byPrincipal.delete(key);
    this.#byPrincipal.set(key, named);
    for (const [oldest, other] of this.#byPrincipal) {
      if (this.#byPrincipal.size <= MAX_PRINCIPALS) break;
      other.close();
      this.#byPrincipal.delete(oldest);
    }
    return named;
  }
}
