// The other nodes, each greeted once when it is seen first: so that another node.secret is known at once, and not by the first session
// that cannot be served; and so that the others know of a node before its clients do.
//
// PRS1  a node that is no member any more is forgotten with all that was passed on to it. One that answers all the same has a moment to
//       be one again: with a restart of the database, or on a machine that is busy, memberships end and nodes do not.
// PRS2  a gateway that begins ends where a member refuses its proof; one that runs goes on, and says so once for each.
// PRS3  whoever greets is known here before it is answered, as long as it is a member: it has clients as soon as it has its answers.

import { setTimeout as elapse } from 'node:timers/promises';
import { NodeRefusedError } from '../../../actors/base/errors/errors.ts';
import type { Log } from '../../../actors/base/errors/log.ts';
import type { NodeWays } from '../../../actors/cluster/node-ways.ts';
import type { Cluster, Member } from '../../../actors/store/membership.ts';
import { Peer } from './peer.ts';

/** A greeting at the start is waited for so long. */
const GREETING_MS = 4_000;
/** One that was not answered is tried again after so long. */
const AGAIN_MS = 5_000;
/** Beyond that no answer to a greeting comes: the node, or the way to it, is no more. */
const SILENCE_MS = 10_000;
/** A node that is no member any more has to answer within that, or is forgotten. */
const ALIVE_MS = 400;
/** One that answers begins its next membership within that. */
const REJOINED_MS = 3_000;
const REFRESH_MS = 250;

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
  /** What was said of by its name and address. */
  readonly #refusing = new Set<string>();
  #unwatch = () => {};
  #checking: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  /** By performance.now(). */
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /** Greets those that are there, and from then on whoever comes. Rejects with NodeRefusedError (PRS2). */
  async begin(): Promise<void> {
    const { membership } = this.#options.cluster;
    // Who became a member before this one could be greeted is found now, and who does so after that greets.
    await this.#look();
    this.#unwatch = membership.watch({ onMembers: (members) => this.#onMembers(members) });
    this.#learn(membership.members);
    const refused = await Promise.all(
      [...this.#peers.values()].map(async (peer) => ((await this.#greet(peer)) ? [] : [peer])),
    );
    const [first] = refused.flat();
    if (first === undefined) return;
    this.close();
    throw new NodeRefusedError(
      `the node ${first.name} at ${first.address} refuses the proof of this one; ${SAME_PROOF}`,
    );
  }

  /** The process of that instance; undefined for this one, for one that is no member, and for one without an address. */
  at(instance: string): Peer | undefined {
    return this.#peers.get(instance);
  }

  /** Somebody of whom nothing is known here has proven that it is a node: resolves once it is found among the members (PRS3). */
  async meet(instance: string | undefined): Promise<void> {
    if (instance === undefined) return;
    // A look that is under way may have begun before it was a member; the next one has not.
    for (let looks = 0; looks < 2 && !this.#peers.has(instance); looks += 1) await this.#look();
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

  /** Reads the members anew: one look for all that ask while it is due or under way, and one within REFRESH_MS. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookInTurn().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookInTurn(): Promise<void> {
    await elapse(Math.max(0, this.#lookedAt + REFRESH_MS - performance.now()), undefined, { ref: false });
    this.#lookedAt = performance.now();
    await this.#options.cluster.membership.tellNow();
  }

  #learn(members: readonly Member[]): ReadonlySet<string> {
    const here = new Set<string>();
    for (const member of members) {
      const instance = String(member.about.instance);
      here.add(instance);
      const way = this.#options.ways.to(member);
      if (way === undefined) continue;
      const peer = this.#peers.get(instance) ?? new Peer(member, way);
      peer.isDraining = member.about.state === 'draining';
      this.#peers.set(instance, peer);
    }
    return here;
  }

  #onMembers(members: readonly Member[]): void {
    const here = this.#learn(members);
    const now = performance.now();
    for (const [instance, peer] of this.#peers) {
      if (here.has(instance)) {
        peer.missingSince = undefined;
        if (now >= peer.greetingDueAt) void this.#greet(peer);
        continue;
      }
      peer.missingSince ??= now;
      // Whoever has said that it stops does not come back.
      if (peer.isDraining || now - peer.missingSince > REJOINED_MS) this.#forget(instance, peer);
      else
        void peer.greet(ALIVE_MS).then((greeted) => {
          if (greeted !== 'known' && peer.missingSince !== undefined) this.#forget(instance, peer);
        });
    }
  }

  #forget(instance: string, peer: Peer): void {
    if (this.#peers.get(instance) !== peer) return;
    this.#peers.delete(instance);
    this.#refusing.delete(`${peer.name} ${peer.address}`);
    peer.close();
  }

  /** False where it refuses the proof. */
  async #greet(peer: Peer): Promise<boolean> {
    peer.greetingDueAt = performance.now() + AGAIN_MS;
    const greeted = await peer.greet(GREETING_MS);
    if (greeted === 'known' || greeted === 'refused') peer.greetingDueAt = Number.POSITIVE_INFINITY;
    if (greeted === 'refused') this.onRefused(peer, 'greeted');
    return greeted !== 'refused';
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
