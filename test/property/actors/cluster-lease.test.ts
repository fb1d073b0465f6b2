// The account lease, which allows one node (gateway) of a cluster to connect a platform account. Three nodes
// request and release the lease, lose their membership of the cluster and rejoin, in random order. At most
// one node holds a valid lease, and a waiting node gets a free lease within the retry interval.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ClusterLease } from '../../../actors/platforms/connections/cluster-lease.ts';
import type { HeldLease } from '../../../actors/platforms/connections/connection-lease.ts';
import { FakeCluster } from '../../fixtures/cluster/fake-cluster.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ACCOUNT = 'botmessenger/42';
/** Longest interval between two attempts by waiting nodes. */
const MAX_RETRY_INTERVAL_MS = 500;

/**
 * A step of one node. `take` requests the lease, `release` releases it, `giveUp` cancels a pending request,
 * and `pass` lets time pass. Steps of the membership: `lose` ends the membership without the knowledge of the
 * other nodes, `bury` ends it with their knowledge, `overdue` ends it before the node itself notices. `enter`
 * joins again.
 */
const step = fc.record({
  node: fc.nat(2),
  do: fc.constantFrom('take', 'take', 'release', 'giveUp', 'lose', 'bury', 'enter', 'overdue', 'pass'),
});

interface LeaseRequest {
  readonly node: number;
  /** Cancels the request. */
  readonly leaving: AbortController;
  /** Undefined while the request is pending. */
  held: HeldLease | undefined;
}

test('at most one node is connected; a lost lease is reported before the next node connects, and waiting nodes connect', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const cluster = new FakeCluster();
      const nodes = [1, 2, 3].map(() => cluster.join());
      const leases = nodes.map((node) => new ClusterLease(node.cluster));
      const requests: LeaseRequest[] = [];
      const validRequests = () =>
        requests.filter(({ held }) => held !== undefined && !held.lossSignal.aborted);
      const settle = () => vi.advanceTimersByTimeAsync(0);
      const endRequest = (request: LeaseRequest | undefined) => {
        if (request === undefined) return;
        request.held?.release();
        request.leaving.abort(new Error('given up'));
        requests.splice(requests.indexOf(request), 1);
      };
      const endLostLeases = () => {
        for (const request of [...requests]) if (request.held?.lossSignal.aborted) endRequest(request);
      };
      for (const { node: index, do: action } of steps) {
        const { node } = nodes[index] ?? {};
        const lease = leases[index];
        if (node === undefined || lease === undefined) continue;
        if (action === 'take') {
          const request: LeaseRequest = { node: index, leaving: new AbortController(), held: undefined };
          requests.push(request);
          lease.acquire(ACCOUNT, request.leaving.signal).then(
            (held) => {
              if (request.leaving.signal.aborted) held.release();
              else request.held = held;
            },
            () => {},
          );
        } else if (action === 'release')
          endRequest(requests.find((request) => request.node === index && request.held !== undefined));
        else if (action === 'giveUp')
          endRequest(requests.find((request) => request.node === index && request.held === undefined));
        else if (action === 'lose') node.lose();
        else if (action === 'bury') node.bury();
        else if (action === 'overdue') node.isOverdue = true;
        else if (action === 'enter' && !node.isInTables) node.enter();
        else if (action === 'pass') await vi.advanceTimersByTimeAsync(MAX_RETRY_INTERVAL_MS);
        await settle();
        // Reading `isMember` ends an overdue membership, as each access does on a real node.
        for (const { node: each } of nodes) void (each.isOverdue && each.isMember);
        expect(validRequests().length).toBeLessThanOrEqual(1);
        endLostLeases();
      }
      // All nodes rejoin. Then one of the waiting requests succeeds within the retry interval.
      for (const { node } of nodes) {
        node.bury();
        node.enter();
      }
      endLostLeases();
      await vi.advanceTimersByTimeAsync(MAX_RETRY_INTERVAL_MS);
      expect(validRequests().length).toBe(Math.min(1, requests.length));
      while (requests.length > 0) {
        const [first] = validRequests();
        endRequest(first ?? requests[0]);
        await vi.advanceTimersByTimeAsync(MAX_RETRY_INTERVAL_MS);
        expect(validRequests().length).toBe(Math.min(1, requests.length));
      }
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('a node that waits for a lease learns which node holds it; if every node may connect the account, no node waits', async () => {
  const cluster = new FakeCluster();
  const [one, two] = [cluster.join('one'), cluster.join('two')];
  const heldLease = await new ClusterLease(one.cluster).acquire(ACCOUNT, new AbortController().signal);
  const holders: (string | undefined)[] = [];
  const lease = new ClusterLease(two.cluster);
  const leaving = new AbortController();
  const waiting = lease.acquire(ACCOUNT, leaving.signal, { onWaits: (node) => holders.push(node) });
  await vi.advanceTimersByTimeAsync(10);
  expect(holders).toEqual(['one']);
  const options = { isOnEveryNode: true };
  const first = await new ClusterLease(one.cluster).acquire('botmessenger/43', leaving.signal, options);
  const second = await lease.acquire('botmessenger/43', leaving.signal, options);
  for (const { release } of [first, second]) release();
  heldLease.release();
  await vi.advanceTimersByTimeAsync(MAX_RETRY_INTERVAL_MS);
  (await waiting).release();
});
