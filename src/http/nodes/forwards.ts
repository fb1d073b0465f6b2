// Forwards clients' requests to the node that owns the session, or that has suspended the call.
//
// - The number of requests, bytes and streams is limited. A single node can use about half, and a single
//   principal about a third (A8, actors/base/bounds/budget.ts). Further requests fail with OverloadedError.
// - A forwarded request is never forwarded further.
// - A draining node gets only messages of open calls, no new requests and streams.

import { Budget } from '../../../actors/base/bounds/budget.ts';
import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import type { ClusterPart } from '../../../actors/cluster/cluster-part.ts';
import type { NodePeers } from '../../../actors/cluster/node-peers.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import { type ClientShares, PrincipalShares } from '../../../actors/mcp/servers/calls/client-shares.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import { Forward } from './forward.ts';
import { requestHead } from './forwarded-head.ts';
import type { Peer } from './peer.ts';
import type { Peers } from './peers.ts';
import type { ForwardRequest, RequestForwarder } from './request-forwarder.ts';

const MIN_BYTES = 64 * 1024 * 1024;
/** Number of bodies of maximum size that must fit. */
const LARGEST_BODIES = 8;

export interface ForwardsOptions {
  readonly cluster: Pick<ClusterPart, 'instance'>;
  /** `sealed` finds the owner in a session id or in the state of a suspended call. */
  readonly reach: Pick<NodePeers, 'sealed'>;
  readonly peers: Pick<Peers, 'at' | 'startChecks' | 'onProofRefused'>;
  readonly limits: GatewayConfig['limits'];
}

export class Forwards implements RequestForwarder {
  readonly #options: ForwardsOptions;
  readonly #requests: Budget;
  readonly #streams: Budget;
  readonly #bytes: Budget;
  readonly #principals = new PrincipalShares();

  constructor(options: ForwardsOptions) {
    const { in_flight, sessions, body_bytes } = options.limits;
    this.#options = options;
    this.#requests = new Budget(in_flight);
    this.#streams = new Budget(sessions);
    this.#bytes = new Budget(Math.max(MIN_BYTES, LARGEST_BODIES * body_bytes));
  }

  forwardForSession(id: string, request: ForwardRequest): boolean {
    if (request.context.isFromNode) return false;
    const instance = this.#options.reach.sealed.instanceOf(id);
    return instance !== undefined && this.#forward(instance, request);
  }

  forwardToOwner(instance: string, request: ForwardRequest): boolean {
    return !request.context.isFromNode && this.#forward(instance, request);
  }

  forwardRetry(request: ForwardRequest & { readonly envelope: Envelope }): boolean {
    if (request.context.isFromNode) return false;
    const state = request.envelope.paramText('requestState');
    const target = state === undefined ? undefined : this.#options.reach.sealed.openState(state);
    if (target === undefined || target.instance === this.#options.cluster.instance) return false;
    if (!this.#forward(target.instance, request)) request.refuseUnknown();
    return true;
  }

  /** Returns false if the node is unknown, and for new requests if the node is draining. */
  #forward(instance: string, request: ForwardRequest): boolean {
    const { peers } = this.#options;
    const { context, envelope, body } = request;
    const peer = peers.at(instance);
    const isListening = context.request.method === 'GET';
    const isStartingWork = isListening || envelope?.kind === 'request';
    if (peer === undefined || (peer.isDraining && isStartingWork)) return false;
    const head = requestHead(context, peer.connection, body?.length);
    if (head === undefined) return false;
    const client = this.#principals.of(context.principal);
    const release = this.#acquire(peer, client, isListening, body?.length ?? 0);
    if (release === undefined) {
      const error = new OverloadedError(
        'too many requests are being forwarded to other nodes; retry shortly, or raise limits.in_flight',
      );
      context.rpcError(error, envelope?.kind === 'request' ? envelope.rawId : undefined);
      return true;
    }
    const forward = new Forward({
      request,
      instance,
      node: peer.name,
      onEnd: () => {
        peer.forwards.delete(forward);
        release();
      },
      onProofRefused: (why) => peers.onProofRefused(peer, why),
    });
    peer.forwards.add(forward);
    peers.startChecks();
    forward.send(peer.pool.acquire(), head, body);
    return true;
  }

  #acquire(
    peer: Peer,
    client: ClientShares | undefined,
    isListening: boolean,
    bytes: number,
  ): (() => void) | undefined {
    const [budget, share, clientShare] = isListening
      ? [this.#streams, peer.streams, client?.streams]
      : [this.#requests, peer.requests, client?.slots];
    if (!budget.acquireFor(1, share, clientShare)) return undefined;
    if (!this.#bytes.acquireFor(bytes, peer.bytes, client?.largeBytes)) {
      budget.release(1, share, clientShare);
      return undefined;
    }
    return () => {
      budget.release(1, share, clientShare);
      this.#bytes.release(bytes, peer.bytes, client?.largeBytes);
    };
  }
}
