// The other nodes, each greeted once when it is seen first: so that another node.secret is known at once, and not by the first session
// that cannot be served.
//
// PRS1  a node that is no member any more is forgotten with all that was passed on to it.
// PRS2  a gateway that begins ends where a member refuses its proof; one that runs goes on, and says so once for each.

import type { Cluster, Member } from '../../../actors/cluster/cluster.ts';
import type { NodeWays } from '../../../actors/cluster/node-ways.ts';
import { NodeRefusedError } from '../../../actors/errors.ts';
import type { Log } from '../../../actors/log.ts';
import { Peer } from './peer.ts';

/** A greeting at the start is waited for so long. */
const GREETING_MS = 4_000;
/** One that was not answered is tried again after so long. */
const AGAIN_MS = 5_000;
/** Beyond that no answer to a greeting comes: the node, or the way to it, is no more. */
const SILENCE_MS = 10_000;

export const SAME_PROOF =
  'node.secret has to be the same at all gateways of a database, and node.tls set at all of them or at none';

export interface PeersOptions {
  readonly cluster: Cluster;
  readonly ways: NodeWays;
  readonly log: Log;
}

export class Peers {
  readonly #options: PeersOptions;
  /** By instance. */
  readonly #peers = new Map<string, Peer>();
  /** Instances that were greeted, and when those that did not answer are to be greeted again. */
  readonly #greeted = new Map<string, number>();
  readonly #refusing = new Set<string>();
  #unwatch = () => {};
  #checking: NodeJS.Timeout | undefined;

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /** Greets those that are there, and from then on whoever comes. Rejects with NodeRefusedError (PRS2). */
  async begin(): Promise<void> {
    const { membership } = this.#options.cluster;
    this.#unwatch = membership.watch({ onMembers: (members) => this.#onMembers(members) });
    const found = membership.members.flatMap((member) => this.of(member) ?? []);
    const refused = await Promise.all(
      found.map(async (peer) => ((await this.#greet(peer)) === 'refused' ? peer : undefined)),
    );
    const [first] = refused.flatMap((peer) => peer ?? []);
    if (first === undefined) return;
    this.close();
    throw new NodeRefusedError(
      `the node ${first.name} at ${first.address} refuses the proof of this one; ${SAME_PROOF}`,
    );
  }

  /** Undefined for this node itself, and for one that has no address. */
  of(member: Member): Peer | undefined {
    const instance = String(member.about.instance);
    const known = this.#peers.get(instance);
    if (known !== undefined) return known;
    const way = this.#options.ways.to(member);
    if (way === undefined) return undefined;
    const peer = new Peer(member, way);
    this.#peers.set(instance, peer);
    return peer;
  }

  /** To be called when something has been passed on: while something is under way its owner is looked after. */
  watchOver(): void {
    this.#checking ??= setInterval(() => this.#check(), AGAIN_MS).unref();
  }

  /** Its proof was refused, or it refused ours. */
  onRefused({ name, address }: Peer, why: string): void {
    const key = `${name} ${address}`;
    if (this.#refusing.has(key)) return;
    this.#refusing.add(key);
    this.#options.log.error(
      { node: name, address, reason: why },
      'a node refuses the proof of this one: node.secret has to be the same at all of them, and node.tls at all or at none',
    );
  }

  close(): void {
    this.#unwatch();
    clearInterval(this.#checking);
    for (const peer of this.#peers.values()) peer.close();
    this.#peers.clear();
  }

  #onMembers(members: readonly Member[]): void {
    const here = new Set(members.map(({ about }) => String(about.instance)));
    for (const [instance, peer] of this.#peers) {
      if (here.has(instance)) continue;
      this.#peers.delete(instance);
      this.#greeted.delete(instance);
      this.#refusing.delete(`${peer.name} ${peer.address}`);
      peer.close();
    }
    const now = performance.now();
    for (const member of members) {
      const due = this.#greeted.get(String(member.about.instance)) ?? 0;
      const peer = now < due ? undefined : this.of(member);
      if (peer !== undefined) void this.#greet(peer, String(member.about.instance));
    }
  }

  async #greet(peer: Peer, instance = this.#instanceOf(peer)): Promise<'refused' | 'other'> {
    this.#greeted.set(instance, performance.now() + AGAIN_MS);
    const greeted = await peer.greet(GREETING_MS);
    if (greeted === 'known') this.#greeted.set(instance, Number.POSITIVE_INFINITY);
    if (greeted !== 'refused') return 'other';
    this.#greeted.set(instance, Number.POSITIVE_INFINITY);
    this.onRefused(peer, 'greeted');
    return 'refused';
  }

  #instanceOf(peer: Peer): string {
    for (const [instance, each] of this.#peers) if (each === peer) return instance;
    return '';
  }

  /** The list of members stays as it is while the database is away: whoever is silent then must not be waited for for ever. */
  #check(): void {
    const busy = [...this.#peers.values()].filter(({ forwards }) => forwards.size > 0);
    if (busy.length === 0) {
      clearInterval(this.#checking);
      this.#checking = undefined;
    }
    for (const peer of busy) {
      if (peer.isChecked) continue;
      peer.isChecked = true;
      const passedOn = [...peer.forwards];
      void peer.greet(SILENCE_MS).then((greeted) => {
        peer.isChecked = false;
        if (greeted === 'silent' || greeted === 'nobody')
          for (const forward of passedOn) forward.onOwnerGone();
      });
    }
  }
}
