// Passes requests on to the node that has what they ask for: a session, or a call that waits for its client.
//
// FWS1 (A8)  what is passed on is bounded over all: requests and their bytes, and streams that are listened to; one node alone gets
//            half of each (actors/base/bounds/budget.ts). What is too much is refused with OverloadedError.
// FWS2       what came from a node is never passed on again.
// FWS3       a node that stops takes nothing that begins; what belongs to calls under way it still gets.

import { Budget } from '../../../actors/base/bounds/budget.ts';
import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import type { ClusterPart } from '../../../actors/cluster/cluster-part.ts';
import type { Reach } from '../../../actors/cluster/reach.ts';
import type { Envelope } from '../../../actors/mcp/jsonrpc/envelope.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import type { Asked, Elsewhere } from './elsewhere.ts';
import { Forward } from './forward.ts';
import { forwardedHead } from './forwarded-head.ts';
import type { Peer } from './peer.ts';
import type { Peers } from './peers.ts';

const MIN_BYTES = 64 * 1024 * 1024;
/** So many of the largest bodies find room. */
const LARGEST = 8;

export interface ForwardsOptions {
  readonly cluster: Pick<ClusterPart, 'instance'>;
  readonly reach: Pick<Reach, 'sealed'>;
  readonly peers: Pick<Peers, 'at' | 'watchOver' | 'onRefused'>;
  readonly limits: GatewayConfig['limits'];
}

export class Forwards implements Elsewhere {
  readonly #options: ForwardsOptions;
  readonly #places: Budget;
  readonly #streams: Budget;
  readonly #bytes: Budget;

  constructor(options: ForwardsOptions) {
    const { in_flight, sessions, body_bytes } = options.limits;
    this.#options = options;
    this.#places = new Budget(in_flight);
    this.#streams = new Budget(sessions);
    this.#bytes = new Budget(Math.max(MIN_BYTES, LARGEST * body_bytes));
  }

  takeForSession(id: string, asked: Asked): boolean {
    if (asked.context.isFromNode) return false;
    const instance = this.#options.reach.sealed.instanceOf(id);
    return instance !== undefined && this.#passOn(instance, asked);
  }

  takeRetry(asked: Asked & { readonly envelope: Envelope }): boolean {
    if (asked.context.isFromNode) return false;
    const state = asked.envelope.paramText('requestState');
    const opened = state === undefined ? undefined : this.#options.reach.sealed.openState(state);
    if (opened === undefined || opened.instance === this.#options.cluster.instance) return false;
    if (!this.#passOn(opened.instance, asked)) asked.gone();
    return true;
  }

  /** False where that node is none, or takes nothing of the kind. */
  #passOn(instance: string, asked: Asked): boolean {
    const { peers } = this.#options;
    const { context, envelope, body } = asked;
    const peer = peers.at(instance);
    const isListening = context.request.method === 'GET';
    const isNew = isListening || envelope?.kind === 'request';
    if (peer === undefined || (peer.isDraining && isNew)) return false;
    const head = forwardedHead(context, peer.way, body?.length);
    if (head === undefined) return false;
    const giveBack = this.#take(peer, isListening, body?.length ?? 0);
    if (giveBack === undefined) {
      const error = new OverloadedError(
        'too many requests are being passed on to other nodes; try again shortly, or raise limits.in_flight',
      );
      context.rpcError(error, envelope?.kind === 'request' ? envelope.rawId : undefined);
      return true;
    }
    const forward = new Forward({
      asked,
      node: peer.name,
      onEnd: () => {
        peer.forwards.delete(forward);
        giveBack();
      },
      onRefusedProof: (why) => peers.onRefused(peer, why),
    });
    peer.forwards.add(forward);
    peers.watchOver();
    forward.send(peer.pool.take(), head, body);
    return true;
  }

  #take(peer: Peer, isListening: boolean, bytes: number): (() => void) | undefined {
    const [places, share] = isListening ? [this.#streams, peer.streams] : [this.#places, peer.places];
    if (!places.take(1, share)) return undefined;
    if (!this.#bytes.take(bytes, peer.bytes)) {
      places.give(1, share);
      return undefined;
    }
    return () => {
      places.give(1, share);
      this.#bytes.give(bytes, peer.bytes);
    };
  }
}
