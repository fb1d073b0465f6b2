// The account lease, which allows one node to connect a platform account: random requests, releases, lost
// memberships and rejoins of several nodes.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ClusterLease } from '../../../actors/platforms/connections/cluster-lease.ts';
import type { HeldLease } from '../../../actors/platforms/connections/connection-lease.ts';
import { FakeCluster } from '../../fixtures/cluster/fake-cluster.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ACCOUNT = 'botmessenger/42';
/** The longest retry interval of a waiter. */
const BOUND_MS = 500;

const step = fc.record({
  node: fc.nat(2),
  do: fc.constantFrom('take', 'take', 'release', 'giveUp', 'lose', 'bury', 'enter', 'overdue', 'pass'),
});

interface LeaseRequest {
  readonly node: number;
  readonly leaving: AbortController;
  held: HeldLease | undefined;
}

test('at most one node is connected; a lost lease is reported before the next node connects, and waiting nodes connect', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const shared = new FakeCluster();
      const nodes = [1, 2, 3].map(() => shared.join());
      const leases = nodes.map(({ cluster }) => new ClusterLease(cluster));
      const requests: LeaseRequest[] = [];
      const holding = () => requests.filter(({ held }) => held !== undefined && !held.lossSignal.aborted);
      const settle = () => vi.advanceTimersByTimeAsync(0);
      const end = (one: LeaseRequest | undefined) => {
        if (one === undefined) return;
        one.held?.release();
        one.leaving.abort(new Error('given up'));
        requests.splice(requests.indexOf(one), 1);
      };
      for (const { node: at, do: action } of steps) {
        const { node } = nodes[at] ?? {};
        const lease = leases[at];
        if (node === undefined || lease === undefined) continue;
        if (action === 'take') {
          const one: LeaseRequest = { node: at, leaving: new AbortController(), held: undefined };
          requests.push(one);
          lease.acquire(ACCOUNT, one.leaving.signal).then(
            (held) => {
              if (one.leaving.signal.aborted) held.release();
              else one.held = held;
            },
            () => {},
          );
        } else if (action === 'release')
          end(requests.find((one) => one.node === at && one.held !== undefined));
        else if (action === 'giveUp') end(requests.find((one) => one.node === at && one.held === undefined));
        else if (action === 'lose') node.lose();
        else if (action === 'bury') node.bury();
        else if (action === 'overdue') node.isOverdue = true;
        else if (action === 'enter' && !node.isInTables) node.enter();
        else if (action === 'pass') await vi.advanceTimersByTimeAsync(BOUND_MS);
        await settle();
        // Each access first checks whether the membership is overdue.
        for (const { node: each } of nodes) void (each.isOverdue && each.isMember);
        expect(holding().length).toBeLessThanOrEqual(1);
        for (const one of [...requests]) if (one.held?.lossSignal.aborted) end(one);
      }
      // All nodes have rejoined. A waiter must connect within the bound.
      for (const { node } of nodes) {
        node.bury();
        node.enter();
      }
      for (const one of [...requests]) if (one.held?.lossSignal.aborted) end(one);
      await vi.advanceTimersByTimeAsync(BOUND_MS);
      expect(holding().length).toBe(Math.min(1, requests.length));
      while (requests.length > 0) {
        const [first] = holding();
        end(first ?? requests[0]);
        await vi.advanceTimersByTimeAsync(BOUND_MS);
        expect(holding().length).toBe(Math.min(1, requests.length));
      }
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('a node that waits for a lease learns its holder; an account that every node may connect needs no wait', async () => {
  const shared = new FakeCluster();
  const [acquisition, two] = [shared.join('one'), shared.join('two')];
  const heldLease = await new ClusterLease(acquisition.cluster).acquire(
    ACCOUNT,
    new AbortController().signal,
  );
  const holders: (string | undefined)[] = [];
  const lease = new ClusterLease(two.cluster);
  const leaving = new AbortController();
  const waiting = lease.acquire(ACCOUNT, leaving.signal, { onWaits: (node) => holders.push(node) });
  await vi.advanceTimersByTimeAsync(10);
  expect(holders).toEqual(['one']);
  const shares = { isOnEveryNode: true };
  const first = await new ClusterLease(acquisition.cluster).acquire(
    'botmessenger/43',
    leaving.signal,
    shares,
  );
  const second = await lease.acquire('botmessenger/43', leaving.signal, shares);
  for (const { release } of [first, second]) release();
  heldLease.release();
  await vi.advanceTimersByTimeAsync(BOUND_MS);
  (await waiting).release();
});
