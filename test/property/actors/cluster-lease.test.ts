// Who may connect for an account among several nodes, under random askings, releases, losses of memberships and returns.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ClusterLease } from '../../../actors/platforms/connections/cluster-lease.ts';
import type { HeldLease } from '../../../actors/platforms/connections/connection-lease.ts';
import { FakeCluster } from '../../fixtures/cluster/fake-cluster.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ACCOUNT = 'botmessenger/42';
/** The longest pause of whoever waits. */
const BOUND_MS = 500;

const step = fc.record({
  node: fc.nat(2),
  do: fc.constantFrom('take', 'take', 'release', 'giveUp', 'lose', 'bury', 'enter', 'overdue', 'pass'),
});

interface Asking {
  readonly node: number;
  readonly leaving: AbortController;
  held: HeldLease | undefined;
}

test('of all nodes one is connected at most, who has lost it knows before another has it, and who waits gets it in time (CLE1, CLE2, CLE3)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const shared = new FakeCluster();
      const nodes = [1, 2, 3].map(() => shared.join());
      const leases = nodes.map(({ cluster }) => new ClusterLease(cluster));
      const asked: Asking[] = [];
      const holding = () => asked.filter(({ held }) => held !== undefined && !held.lost.aborted);
      const settle = () => vi.advanceTimersByTimeAsync(0);
      const end = (one: Asking | undefined) => {
        if (one === undefined) return;
        one.held?.release();
        one.leaving.abort(new Error('given up'));
        asked.splice(asked.indexOf(one), 1);
      };
      for (const { node: at, do: what } of steps) {
        const { node } = nodes[at] ?? {};
        const lease = leases[at];
        if (node === undefined || lease === undefined) continue;
        if (what === 'take') {
          const one: Asking = { node: at, leaving: new AbortController(), held: undefined };
          asked.push(one);
          lease.take(ACCOUNT, one.leaving.signal).then(
            (held) => {
              if (one.leaving.signal.aborted) held.release();
              else one.held = held;
            },
            () => {},
          );
        } else if (what === 'release') end(asked.find((one) => one.node === at && one.held !== undefined));
        else if (what === 'giveUp') end(asked.find((one) => one.node === at && one.held === undefined));
        else if (what === 'lose') node.lose();
        else if (what === 'bury') node.bury();
        else if (what === 'overdue') node.isOverdue = true;
        else if (what === 'enter' && !node.isThere) node.enter();
        else if (what === 'pass') await vi.advanceTimersByTimeAsync(BOUND_MS);
        await settle();
        // One that is overdue is asked first by whoever does anything under it.
        for (const { node: each } of nodes) void (each.isOverdue && each.isMember);
        expect(holding().length).toBeLessThanOrEqual(1);
        for (const one of [...asked]) if (one.held?.lost.aborted) end(one);
      }
      // All who can be members are: somebody who waits is connected within the bound.
      for (const { node } of nodes) {
        node.bury();
        node.enter();
      }
      for (const one of [...asked]) if (one.held?.lost.aborted) end(one);
      await vi.advanceTimersByTimeAsync(BOUND_MS);
      expect(holding().length).toBe(Math.min(1, asked.length));
      while (asked.length > 0) {
        const [first] = holding();
        end(first ?? asked[0]);
        await vi.advanceTimersByTimeAsync(BOUND_MS);
        expect(holding().length).toBe(Math.min(1, asked.length));
      }
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('a standby is told by whom the account is held, and does not wait for what every node may have', async () => {
  const shared = new FakeCluster();
  const [one, two] = [shared.join('one'), shared.join('two')];
  const held = await new ClusterLease(one.cluster).take(ACCOUNT, new AbortController().signal);
  const told: (string | undefined)[] = [];
  const lease = new ClusterLease(two.cluster);
  const leaving = new AbortController();
  const waiting = lease.take(ACCOUNT, leaving.signal, { onWaits: (node) => told.push(node) });
  await vi.advanceTimersByTimeAsync(10);
  expect(told).toEqual(['one']);
  const shares = { isOnEveryNode: true };
  const first = await new ClusterLease(one.cluster).take('botmessenger/43', leaving.signal, shares);
  const second = await lease.take('botmessenger/43', leaving.signal, shares);
  for (const { release } of [first, second]) release();
  held.release();
  await vi.advanceTimersByTimeAsync(BOUND_MS);
  (await waiting).release();
});
