// A connection to a legacy server for one modern request at a time. Over stdio a legacy server's question carries no
// link to a call, so a request whose client can be asked needs a connection on which it is alone. When it is over, the
// next request of a client that can do the same takes the lane; unused ones end like any session's connection.
//
// LN1  a lane serves one request at a time: whatever comes on its connection belongs to that request.
// LN2  a lane in use is neither idle nor evicted; one that is free is both before any other.

import type { GatewayError } from '../errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { latestSessionVersion } from '../server/advert.ts';
import { type Connection, refuseServerRequest } from '../server/connection.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Owner, Parting } from '../server/owner.ts';
import type { ModernAsker } from './modern-asker.ts';

/** The request a lane serves. */
export interface LaneUser {
  onServerRequest(connection: Connection, envelope: Envelope): void;
  onServerNotification(connection: Connection, envelope: Envelope): void;
}

export class Lane implements Owner {
  readonly label: string;
  readonly era = 'legacy';
  readonly isListener = false;
  readonly protocolVersion = latestSessionVersion;
  readonly clientInfo: unknown;
  readonly capabilities: Readonly<Record<string, unknown>>;
  user: LaneUser | undefined;
  readonly #onGone: () => void;

  constructor(label: string, asker: ModernAsker, onGone: () => void) {
    this.label = label;
    this.clientInfo = asker.clientInfo;
    this.capabilities = asker.capabilities;
    this.#onGone = onGone;
  }

  get hasOpenStream(): boolean {
    return this.user !== undefined;
  }

  belongsTo(): boolean {
    return true;
  }

  onServerRequest(connection: Connection, envelope: Envelope): void {
    if (this.user === undefined) refuseServerRequest(connection, envelope);
    else this.user.onServerRequest(connection, envelope);
  }

  onServerNotification(connection: Connection, envelope: Envelope): void {
    this.user?.onServerNotification(connection, envelope);
  }

  onParting(_server: string, _why: Parting, _error: GatewayError): void {
    this.#onGone();
  }
}

/** The lanes of one server that nobody uses right now, by what their clients can do. */
export class Lanes {
  readonly #server: ManagedServer;
  readonly #free = new Map<string, Set<Lane>>();
  #count = 0;

  constructor(server: ManagedServer) {
    this.#server = server;
  }

  /** Whether a lane is free for such a client. */
  has(asker: ModernAsker): boolean {
    return (this.#free.get(keyOf(asker))?.size ?? 0) > 0;
  }

  /** A lane for a request; to be given back. */
  take(asker: ModernAsker, user: LaneUser): Lane {
    const key = keyOf(asker);
    const free = this.#free.get(key);
    for (const lane of free ?? []) {
      free?.delete(lane);
      lane.user = user;
      return lane;
    }
    this.#count += 1;
    const lane: Lane = new Lane(`lane ${this.#count}`, asker, () => this.#forget(key, lane));
    lane.user = user;
    return lane;
  }

  /** `isSpoilt`: the request was given up, and what its server still says must reach no other. */
  giveBack(lane: Lane, isSpoilt: boolean): void {
    lane.user = undefined;
    if (isSpoilt || this.#server.pool.memberOf(lane) === undefined) {
      this.#server.release(lane);
      return;
    }
    const key = keyOf(lane);
    const free = this.#free.get(key) ?? new Set();
    this.#free.set(key, free.add(lane));
  }

  #forget(key: string, lane: Lane): void {
    this.#server.subscriptions.release(lane);
    const free = this.#free.get(key);
    free?.delete(lane);
    if (free?.size === 0) this.#free.delete(key);
  }
}

function keyOf({ capabilities, clientInfo }: { capabilities: unknown; clientInfo: unknown }): string {
  return JSON.stringify([capabilities, clientInfo]);
}
