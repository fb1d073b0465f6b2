// Connection data and headers for requests to other nodes of the cluster. Callers, such as HttpLink, do not
// need to know how nodes authenticate.

import type { ConnectionOptions } from 'node:tls';
import type { Member } from '../store/membership.ts';

export interface NodeConnection {
  /** https://host:port of the node's listener. */
  readonly url: URL;
  /** Keys or certificates of the connection. */
  readonly tls: ConnectionOptions;
  /** Headers of every request: the proof, and the target instance, which alone accepts the request. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface NodeConnections {
  /** Returns the connection data; undefined for this node, or a member without a valid address. */
  connectionTo(member: Member): NodeConnection | undefined;
}

/** Headers between nodes. Client headers with these names are never forwarded. */
export const nodeHeaders = {
  /** Target instance. */
  to: 'x-node-to',
  /** Sending instance. */
  from: 'x-node-from',
  /** Bearer token, if nodes use certificates. */
  proof: 'x-node-proof',
  /**
   * Epoch of this node's lease on the server, as the sender knows it. A request with this header is from a
   * node, not from a client.
   */
  epoch: 'x-node-epoch',
  /** Present if the sending node authenticated the client as the operator. */
  operator: 'x-node-operator',
  /** Response header: reason for a refusal before the request was processed. */
  refused: 'x-node-refused',
} as const;

export const NODE_HEADER_PREFIX = 'x-node-';

/** Values of `nodeHeaders.refused`. */
export type NodeRefusal = 'proof' | 'instance' | 'epoch' | 'moved' | 'stopping';
