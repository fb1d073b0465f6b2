// A connection to a legacy server for one modern request at a time. Over stdio a legacy server's question carries no
// link to a call, so a request whose client can be asked needs a connection on which it is alone. When it is over, the
// next request of a client that can do the same takes the lane; unused ones end like any session's connection.
//
// LN1  a lane serves one request at a time: whatever comes on its connection belongs to that request.
// LN2  a lane in use is neither idle nor evicted, but while its call is parked it gives way to whoever finds no connection
//      left; one that is free is idle and evicted before any other.
// LN3  a server that asks when no request is there to ask for may do so again at the next: that lane is not used again.

import type { GatewayError } from '../errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { latestSessionVersion } from '../server/advert.ts';
import { refuseServerRequest } from '../server/askable.ts';
import type { Connection } from '../server/connection.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Owner, Parting } from '../server/owner.ts';
import { ClientDescription } from './client-description.ts';
import type { ModernAsker } from './modern-asker.ts';

/** The request a lane serves. */
export interface LaneUser extends Pick<Owner, 'parkedAt' | 'giveWay'> {
  onServerRequest(connection: Connection, envelope: Envelope): void;
  onServerNotification(connection: Connection, envelope: Envelope): void;
}

interface LaneEvents {
  /** Its connection is over. */
  readonly onGone: () => void;
  /** The server asks although nobody uses the lane. */
  readonly onStray: () => void;
}

export class Lane implements Owner {
  readonly label: string;
  readonly era = 'legacy';
  readonly isListener = false;
  readonly protocolVersion = latestSessionVersion;
  user: LaneUser | undefined;
  readonly key: string;
  readonly #description: ClientDescription;
  readonly #events: LaneEvents;

  constructor(label: string, key: string, asker: ModernAsker, events: LaneEvents) {
    this.label = label;
    this.key = key;
    this.#description = new ClientDescription(asker.clientInfo, asker.capabilities);
    this.#events = events;
  }

  get clientInfo(): unknown {
    return this.#description.clientInfo;
  }

  get capabilities(): Readonly<Record<string, unknown>> {
    return this.#description.capabilities;
  }

  get hasOpenStream(): boolean {
    return this.user !== undefined;
  }

  get parkedAt(): number | undefined {
    return this.user?.parkedAt;
  }

  giveWay(error: GatewayError): void {
    this.user?.giveWay?.(error);
  }

  belongsTo(): boolean {
    return true;
  }

  onServerRequest(connection: Connection, envelope: Envelope): void {
    if (this.user !== undefined) {
      this.user.onServerRequest(connection, envelope);
      return;
    }
    refuseServerRequest(connection, envelope);
    this.#events.onStray();
  }

  onServerNotification(connection: Connection, envelope: Envelope): void {
    this.user?.onServerNotification(connection, envelope);
  }

  onParting(_server: string, _why: Parting, _error: GatewayError): void {
    this.#events.onGone();
  }
}

/**
 * The lanes of one server that nobody uses right now, by what their clients are, can do and want to be told. Calls that
 * come one after the other empty and fill a list of a kind; its place in the table stays meanwhile.
 */
export class Lanes {
  readonly #server: ManagedServer;
  readonly #free = new Map<string, Lane[]>();
  #count = 0;

  constructor(server: ManagedServer) {
    this.#server = server;
  }

  /** Whether a lane is free for such a client. */
  has(asker: ModernAsker): boolean {
    return (this.#free.get(keyOf(asker))?.length ?? 0) > 0;
  }

  /** For how many kinds of clients lanes are kept. */
  get size(): number {
    return this.#free.size;
  }

  /** A lane for a request; to be given back. */
  take(asker: ModernAsker, user: LaneUser): Lane {
    const key = keyOf(asker);
    const lane = this.#free.get(key)?.shift() ?? this.#open(key, asker);
    lane.user = user;
    return lane;
  }

  /** `isSpoilt`: the request was given up, and what its server still says must reach no other. */
  giveBack(lane: Lane, isSpoilt: boolean): void {
    lane.user = undefined;
    const member = this.#server.pool.memberOf(lane);
    if (isSpoilt || member === undefined) {
      this.#takeOut(lane);
      // A connection that ends by itself fails its calls first, and is then reported and taken out by its pool.
      if (member?.connection.isEnded === true) queueMicrotask(() => this.#server.release(lane));
      else this.#server.release(lane);
      return;
    }
    const free = this.#free.get(lane.key);
    if (free === undefined) this.#free.set(lane.key, [lane]);
    else free.push(lane);
    if (this.#free.size > this.#server.pool.members.size) this.#forgetLost();
  }

  /** A remote session that could not be renewed is gone without a parting. */
  #forgetLost(): void {
    const { pool, subscriptions } = this.#server;
    for (const [key, lanes] of this.#free) if (lanes.length === 0) this.#free.delete(key);
    for (const lane of [...this.#free.values()].flat()) {
      if (pool.memberOf(lane) !== undefined) continue;
      this.#takeOut(lane);
      subscriptions.release(lane);
    }
  }

  #open(key: string, asker: ModernAsker): Lane {
    this.#count += 1;
    const lane: Lane = new Lane(`lane ${this.#count}`, key, asker, {
      onGone: () => {
        this.#takeOut(lane);
        this.#server.subscriptions.release(lane);
      },
      onStray: () => {
        this.#takeOut(lane);
        this.#server.release(lane);
      },
    });
    if (asker.logLevel !== undefined) this.#server.setLevel(lane, asker.logLevel);
    return lane;
  }

  /** The lane is over. A kind of which none is free keeps no place; another that is in use gets it one again. */
  #takeOut(lane: Lane): void {
    const free = this.#free.get(lane.key);
    if (free === undefined) return;
    const at = free.indexOf(lane);
    if (at !== -1) free.splice(at, 1);
    if (free.length === 0) this.#free.delete(lane.key);
  }
}

function keyOf({ capabilities, clientInfo, logLevel }: ModernAsker): string {
  return JSON.stringify([capabilities, clientInfo, logLevel]);
}
