// How a request reaches another node: an interface, so that whoever has one to send (a session that is elsewhere, a server that runs
// elsewhere) needs to know nothing of how nodes prove themselves. HttpLink takes what is here as it is.

import type { ConnectionOptions } from 'node:tls';
import type { Member } from '../store/membership.ts';

export interface NodeWay {
  /** https://host:port of its listener for nodes. */
  readonly url: URL;
  /** For the connection: keys or certificates. */
  readonly tls: ConnectionOptions;
  /** To be sent with every request: the proof, and the process that is meant. No other process answers it. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface NodeWays {
  /** Undefined where the member has no address, or is none that could be asked. */
  to(member: Member): NodeWay | undefined;
}

/** Names of headers that nodes alone send; those of clients are never passed on. */
export const nodeHeaders = {
  /** The instance that is meant. */
  to: 'x-node-to',
  /** The instance that sends. */
  from: 'x-node-from',
  /** The proof, beside certificates. */
  proof: 'x-node-proof',
  /** Epoch of the lease on a server by which the sender believes that it runs there; such a request is of a node, not of a client. */
  epoch: 'x-node-epoch',
  /** The sending node has authenticated the client as the operator. */
  operator: 'x-node-operator',
  /** In an answer: why it is refused before anybody has looked at what is asked. */
  refused: 'x-node-refused',
} as const;

export const NODE_HEADER_PREFIX = 'x-node-';

/** Why a listener for nodes refuses, in `nodeHeaders.refused`. */
export type NodeRefusal = 'proof' | 'instance' | 'epoch';
