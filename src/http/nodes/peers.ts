// The other nodes of the cluster. Nodes prove to each other that they know the same node.secret. A node is
// greeted when it is first seen. This detects a wrong secret before a session needs the node, and makes a new
// node known before its clients arrive.
//
// - A node that is missing among the members is removed, and its forwards (requests of clients that this node
//   has forwarded to it) fail. If it still responds, it gets REJOIN_MS to rejoin: after a restart of the
//   database, or on a busy machine, nodes lose their membership without exiting.
// - If a member refuses the proof of this node, a starting gateway fails; a running gateway logs it once per
//   node.
// - The response to a greeting is sent when this node knows the greeting node, because the clients of that
//   node may send requests immediately afterwards.

import { setTimeout as delay } from 'node:timers/promises';
import { NodeRefusedError } from '../../../actors/base/errors/errors.ts';
import type { Log } from '../../../actors/base/errors/log.ts';
import type { NodeConnections } from '../../../actors/cluster/node-connection.ts';
import type { Cluster, Member } from '../../../actors/store/membership.ts';
import { Peer } from './peer.ts';

/** Greeting timeout. */
const GREETING_MS = 4_000;
/** Interval between greetings to a node that does not respond, and between checks. */
const RETRY_MS = 5_000;
/** Check timeout. Afterwards the node counts as dead or unreachable. */
const SILENT_MS = 10_000;
/** Timeout of the greeting to a missing node. If it does not respond, it is removed. */
const MISSING_GREETING_MS = 400;
/** Time for a missing node to rejoin. */
const REJOIN_MS = 3_000;
/** Minimum interval between two reads of the members. */
const REFRESH_MS = 250;

export const SAME_PROOF_HINT =
  'use the same node.secret on all gateways of a database, and node.tls on all or none';

export interface PeersOptions {
  readonly cluster: Cluster;
  readonly connections: NodeConnections;
  readonly log: Log;
}

export class Peers {
  readonly #options: PeersOptions;
  /** Other nodes by instance (process id in the cluster). */
  readonly #peers = new Map<string, Peer>();
  /** Nodes whose refusal was already logged, as `NAME ADDRESS`. */
  readonly #loggedRefusals = new Set<string>();
  #stopWatching = () => {};
  #checkTimer: NodeJS.Timeout | undefined;
  #refreshing: Promise<void> | undefined;
  /** `performance.now()` of the last read of the members. */
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /**
   * Greets all members, and each later member when it joins. Rejects with NodeRefusedError if a member
   * refuses the proof of this node.
   */
  async start(): Promise<void> {
    const { membership } = this.#options.cluster;
    // Finds the members that have joined before this node could be greeted. Later members greet this node.
    await this.#refresh();
    this.#stopWatching = membership.watch({ onMembers: (members) => this.#onMembers(members) });
    this.#updatePeers(membership.members);
    const refusing = await Promise.all(
      [...this.#peers.values()].map(async (peer) => ((await this.#greet(peer)) ? [] : [peer])),
    );
    const [first] = refusing.flat();
    if (first === undefined) return;
    this.close();
    throw new NodeRefusedError(
      `the node ${first.name} at ${first.address} refuses the proof of this node; ${SAME_PROOF_HINT}`,
    );
  }

  /** Returns another node; undefined for this process, an unknown instance, or a node without an address. */
  at(instance: string): Peer | undefined {
    return this.#peers.get(instance);
  }

  /** Reads the members until the node is found, up to two times. */
  async awaitMember(instance: string | undefined): Promise<void> {
    if (instance === undefined) return;
    // A read that is already running may predate the node's join, so a second read is necessary.
    for (let refreshes = 0; refreshes < 2 && !this.#peers.has(instance); refreshes += 1)
      await this.#refresh();
  }

  /** Starts the periodic checks of nodes with open forwards. Called after each forward. */
  startChecks(): void {
    this.#checkTimer ??= setInterval(() => this.#check(), RETRY_MS).unref();
  }

  /**
   * Logs, once per node, a refused proof: the other node refuses the proof of this node, or one of the two
   * nodes refuses the TLS certificate of the other.
   */
  onProofRefused({ name, address }: Peer, reason: string): void {
    const key = `${name} ${address}`;
    if (this.#loggedRefusals.has(key)) return;
    this.#loggedRefusals.add(key);
    this.#options.log.error(
      { node: name, address, reason },
      'a node refuses the proof of this node: use the same node.secret on all nodes, and node.tls on all or none',
    );
  }

  close(): void {
    this.#stopWatching();
    clearInterval(this.#checkTimer);
    for (const peer of this.#peers.values()) peer.close();
    this.#peers.clear();
  }

  /** Reads the members. Concurrent callers share one read. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshAfterPause().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #refreshAfterPause(): Promise<void> {
    await delay(Math.max(0, this.#refreshedAt + REFRESH_MS - performance.now()), undefined, { ref: false });
    this.#refreshedAt = performance.now();
    // Also reads the members.
    await this.#options.cluster.membership.publishNow();
  }

  #updatePeers(members: readonly Member[]): ReadonlySet<string> {
    const instances = new Set<string>();
    for (const member of members) {
      const instance = String(member.about.instance);
      instances.add(instance);
      const connection = this.#options.connections.connectionTo(member);
      if (connection === undefined) continue;
      const peer = this.#peers.get(instance) ?? new Peer(member, connection);
      peer.isDraining = member.about.state === 'draining';
      this.#peers.set(instance, peer);
    }
    return instances;
  }

  #onMembers(members: readonly Member[]): void {
    const instances = this.#updatePeers(members);
    const now = performance.now();
    for (const [instance, peer] of this.#peers) {
      if (instances.has(instance)) {
        peer.missingSince = undefined;
        if (now >= peer.greetingDueAt) void this.#greet(peer);
        continue;
      }
      peer.missingSince ??= now;
      // A draining node does not rejoin.
      if (peer.isDraining || now - peer.missingSince > REJOIN_MS) this.#remove(instance, peer);
      else
        void peer.greet(MISSING_GREETING_MS).then((result) => {
          if (result !== 'known' && peer.missingSince !== undefined) this.#remove(instance, peer);
        });
    }
  }

  #remove(instance: string, peer: Peer): void {
    if (this.#peers.get(instance) !== peer) return;
    this.#peers.delete(instance);
    this.#loggedRefusals.delete(`${peer.name} ${peer.address}`);
    peer.close();
  }

  /** Greets a node. Returns false if the proof was refused. */
  async #greet(peer: Peer): Promise<boolean> {
    peer.greetingDueAt = performance.now() + RETRY_MS;
    const result = await peer.greet(GREETING_MS);
    if (result === 'known' || result === 'refused') peer.greetingDueAt = Number.POSITIVE_INFINITY;
    if (result === 'refused') this.onProofRefused(peer, 'it refused a greeting');
    return result !== 'refused';
  }

  /**
   * Checks that nodes with open forwards still respond. If the database is unavailable, the list of members
   * is not updated, so a dead node would not be noticed.
   */
  #check(): void {
    const busy = [...this.#peers.values()].filter(({ forwards }) => forwards.size > 0);
    if (busy.length === 0) {
      clearInterval(this.#checkTimer);
      this.#checkTimer = undefined;
    }
    for (const peer of busy) {
      if (peer.isBeingChecked) continue;
      peer.isBeingChecked = true;
      const forwards = [...peer.forwards];
      void peer.greet(SILENT_MS).then((result) => {
        peer.isBeingChecked = false;
        // The node owns the sessions of these forwards, and counts as dead. A new request is forwarded to it
        // while it is a member.
        if (result === 'silent' || result === 'portClosed')
          for (const forward of forwards) forward.failLostOwner();
      });
    }
  }
}
