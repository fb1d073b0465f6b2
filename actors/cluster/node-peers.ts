// Communication between nodes: the proof by which they authenticate, session ids that contain the encrypted
// id of their node, and connection data for other nodes. Loaded only if node.address is configured.

import { InternalError } from '../base/errors/errors.ts';
import { RequestStates } from '../mcp/clients/eras/request-states.ts';
import type { Member } from '../store/membership.ts';
import { type NodeConnection, type NodeConnections, nodeHeaders } from './node-connection.ts';
import { type NodeProof, type NodeProofOptions, nodeProof } from './node-proof.ts';
import { SealedInstances } from './sealed-instances.ts';

export class NodePeers implements NodeConnections {
  readonly proof: NodeProof;
  /** Encrypts and decrypts the instance ids in session ids. */
  readonly sealed: SealedInstances;
  /** Encrypts and decrypts the states of calls that need input from the client. */
  readonly states: RequestStates;
  readonly #instance: string;

  constructor(proof: NodeProof, sealed: SealedInstances, instance: string) {
    this.proof = proof;
    this.sealed = sealed;
    this.states = new RequestStates(sealed, instance);
    this.#instance = instance;
  }

  connectionTo({ address, about: { instance } }: Member): NodeConnection | undefined {
    if (address === '' || typeof instance !== 'string' || instance === this.#instance) return undefined;
    if (!URL.canParse(`https://${address}`)) return undefined;
    const { bearer, client } = this.proof;
    return {
      url: new URL(`https://${address}`),
      tls: client,
      headers: {
        [nodeHeaders.to]: instance,
        [nodeHeaders.from]: this.#instance,
        ...(bearer === undefined ? {} : { [nodeHeaders.proof]: bearer }),
      },
    };
  }
}

/** Rejects if a certificate file cannot be read. */
export async function makeNodePeers(
  { secret, tls }: Partial<NodeProofOptions>,
  instance: string,
): Promise<NodePeers> {
  if (secret === undefined) throw new InternalError('node.address without node.secret');
  return new NodePeers(await nodeProof({ secret, tls }), new SealedInstances(secret, instance), instance);
}
