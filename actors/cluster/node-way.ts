// The way from this node to another one, for whoever sends requests there: where it listens for nodes, and by what both prove that
// they are of the cluster. The listener, and what makes this, is the HTTP front's.

import type { ConnectionOptions } from 'node:tls';
import type { Member } from './cluster.ts';

export interface NodeTarget {
  /** `https://host:port`. */
  readonly origin: string;
  /** For every request; lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: ConnectionOptions;
}

export interface NodeWay {
  to(member: Member): NodeTarget;
}

/** Calls for a server of `placement: cluster` are sent under the epoch of its lease. */
export const LEASE_EPOCH_HEADER = 'x-actor-gateway-lease-epoch';
