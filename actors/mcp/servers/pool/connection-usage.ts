// Tells which connection serves whom, and which are in use right now. It holds no state: it answers from the eras, the
// members of the pool and the subscriptions of clients.

import type { Era } from '../../jsonrpc/modern-meta.ts';
import type { CallOwner } from '../calls/call-owner.ts';
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
  readonly handle: Handle;
}

export class ConnectionUsage {
  readonly #options: ConnectionUsageOptions;

  constructor(options: ConnectionUsageOptions) {
    this.#options = options;
  }

  /** Whether `owner` is served by this very connection. */
  isAt(owner: CallOwner, member: PoolMember): boolean {
    const { eras, pool } = this.#options;
    return eras.for(owner.era) === member.era && pool.placeOf(owner, member.era) === member.owner;
  }

  /** Whether `owner` hears, in this era, what a connection tells that many share. */
  hearsInCommon(owner: CallOwner, era: Era): boolean {
    const { eras, pool } = this.#options;
    return eras.for(owner.era) === era && pool.placeOf(owner, era) === undefined;
  }

  /** Whether somebody wants to hear in this era on a common connection, and there is none. */
  isUnheard(era: Era): boolean {
    const { pool, subscriptions } = this.#options;
    for (const member of pool.members) if (member.owner === undefined && member.era === era) return false;
    return subscriptions.some((owner) => this.hearsInCommon(owner, era));
  }

  /** Whether somebody without a connection of his own is subscribed to what this one tells. */
  isHeardBySome(member: PoolMember): boolean {
    const { subscriptions } = this.#options;
    return member.owner === undefined && subscriptions.some((owner) => this.isAt(owner, member));
  }

  /** Returns true if the connection must stay open: for calls, running tasks or listeners of this server. */
  isInUse(member: PoolMember): boolean {
    const { server, subscriptions, tasks, handle } = this.#options;
    const { isOpen, inFlight, owner } = member;
    if (!isOpen || inFlight > 0 || handle.isAwaited(member) || tasks.isActiveOn(member)) return true;
    if (owner === undefined) return this.isHeardBySome(member);
    if (!owner.hasOpenStream) return false;
    return owner.belongsTo(server) || subscriptions.has(owner);
  }

  /** Whether the server must not become idle. */
  get isBusy(): boolean {
    const { pool, isShared, subscriptions } = this.#options;
    for (const member of pool.members) if (this.isInUse(member)) return true;
    return isShared && !subscriptions.isEmpty;
  }
}
