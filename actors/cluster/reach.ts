// What a node that others can reach has beside its membership: its proof, sealed ids that lead to it, and ways to the others. Loaded
// only where node.address is configured.

import { InternalError } from '../base/errors/errors.ts';
import { HandedOutStates } from '../mcp/clients/eras/handed-out-states.ts';
import type { Member } from '../store/membership.ts';
import { type NodeProof, type NodeProofOptions, nodeProof } from './node-proof.ts';
import { type NodeWay, type NodeWays, nodeHeaders } from './node-ways.ts';
import { SealedInstances } from './sealed-instances.ts';

export class Reach implements NodeWays {
  readonly proof: NodeProof;
  readonly sealed: SealedInstances;
  readonly states: HandedOutStates;
  readonly #instance: string;

  constructor(proof: NodeProof, sealed: SealedInstances, instance: string) {
    this.proof = proof;
    this.sealed = sealed;
    this.states = new HandedOutStates(sealed, instance);
    this.#instance = instance;
  }

  to({ address, about: { instance } }: Member): NodeWay | undefined {
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

/** Rejects where a file of certificates cannot be read. */
export async function makeReach(
  { secret, tls }: Partial<NodeProofOptions>,
  instance: string,
): Promise<Reach> {
  if (secret === undefined) throw new InternalError('node.address without node.secret');
  return new Reach(await nodeProof({ secret, tls }), new SealedInstances(secret, instance), instance);
}
