// Determines which connection serves a client, and which connections are in use. The class has no state: it
// reads the pool members (connections), the subscriptions and the eras (protocol generations,
// jsonrpc/modern-meta.ts). An `owner` is a client session. A member with an owner is the private connection
// of this session.

import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallOwner } from '../calls/owner.ts';
import type { ServerEras } from '../eras/eras.ts';
import type { Handle } from '../handle.ts';
import type { Subscriptions } from '../notifications/subscriptions.ts';
import type { TaskRecords } from '../tasks/task-records.ts';
import type { Pool } from './pool.ts';
import type { PoolMember } from './pool-member.ts';

export interface ConnectionUsageOptions {
  readonly server: string;
  readonly isShared: boolean;
  readonly eras: ServerEras;
  readonly subscriptions: Subscriptions;
  readonly tasks: TaskRecords;
  readonly pool: Pool;
  /** Sends the calls of the server, and knows the calls that clients will repeat after an answer. */
  readonly handle: Handle;
}

export class ConnectionUsage {
  readonly #options: ConnectionUsageOptions;

  constructor(options: ConnectionUsageOptions) {
    this.#options = options;
  }

  /** Returns true if this connection serves `owner`. */
  isServedBy(owner: CallOwner, member: PoolMember): boolean {
    const { eras, pool } = this.#options;
    return eras.serverEraFor(owner.era) === member.era && pool.ownerOf(owner, member.era) === member.owner;
  }

  /** Returns true if `owner` receives notifications of this era from a shared connection. */
  usesSharedConnection(owner: CallOwner, era: Era): boolean {
    const { eras, pool } = this.#options;
    return eras.serverEraFor(owner.era) === era && pool.ownerOf(owner, era) === undefined;
  }

  /** Returns true if subscribers need a shared connection of this era and there is none. */
  lacksConnection(era: Era): boolean {
    const { pool, subscriptions } = this.#options;
    for (const member of pool.members) if (member.owner === undefined && member.era === era) return false;
    return subscriptions.some((owner) => this.usesSharedConnection(owner, era));
  }

  /** Returns true if this is a shared connection with subscribers. */
  hasSubscribers(member: PoolMember): boolean {
    const { subscriptions } = this.#options;
    return member.owner === undefined && subscriptions.some((owner) => this.isServedBy(owner, member));
  }

  /**
   * Returns true if the connection must not be closed: it is still opening, or has calls, expected retries,
   * running tasks or listeners of this server.
   */
  isInUse(member: PoolMember): boolean {
    const { server, subscriptions, tasks, handle } = this.#options;
    const { isOpen, inFlight, owner } = member;
    if (!isOpen || inFlight > 0 || handle.isAwaited(member) || tasks.isActiveOn(member)) return true;
    if (owner === undefined) return this.hasSubscribers(member);
    if (!owner.hasOpenStream) return false;
    return owner.belongsTo(server) || subscriptions.has(owner);
  }

  /** True if the server must not become idle. */
  get isBusy(): boolean {
    const { pool, isShared, subscriptions } = this.#options;
    for (const member of pool.members) if (this.isInUse(member)) return true;
    return isShared && !subscriptions.isEmpty;
  }
}
