import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { Health } from '../../../../../../actors/mcp/servers/life/health.ts';
import type { PoolMember } from '../../../../../../actors/mcp/servers/pool/pool-member.ts';

/** Creates a connection with pings that the test completes, and other requests that `others` answers. */
function pinged(others: () => Promise<void> = () => Promise.reject(new Error('no answer'))) {
  const pings: { answer(): void; miss(): void }[] = [];
  const connection = {
    lastMessageAt: Number.NEGATIVE_INFINITY,
    isEnded: false,
    ping: () =>
      new Promise<void>((resolve, reject) => {
        pings.push({ answer: resolve, miss: () => reject(new Error('no answer')) });
      }),
    request: others,
    // Suspended calls count as calls in flight.
    calls: () => [{ isSuspended: true }],
  };
  const member = {
    connection,
    isOpen: true,
    isClosing: undefined,
    missedPings: 0,
    isPinged: false,
    inFlight: 0,
  };
  return { pings, member: member as unknown as PoolMember };
}

let health: Health;
const silent: number[] = [];
function watch(member: PoolMember): void {
  silent.length = 0;
  health = new Health({
    server: 'slow',
    intervalMs: 5,
    timeoutMs: 1_000,
    failures: 2,
    members: () => [member],
    onSilent: (_, missed) => silent.push(missed),
  });
  health.start();
}
afterEach(() => health.stop());

test('a connection has at most one ping in flight, however short the interval, so two missed pings are consecutive', async () => {
  const { pings, member } = pinged();
  watch(member);
  await vi.waitFor(() => expect(pings).toHaveLength(1), { timeout: 10_000 });
  await sleep(50);
  expect(pings).toHaveLength(1);
  pings[0]?.miss();
  await vi.waitFor(() => expect(pings).toHaveLength(2), { timeout: 10_000 });
  expect(silent).toEqual([]);
  pings[1]?.miss();
  await vi.waitFor(() => expect(silent).toEqual([2]), { timeout: 10_000 });
});

test('an answered ping resets the count of missed pings', async () => {
  const { pings, member } = pinged();
  watch(member);
  for (const [at, end] of (['miss', 'answer', 'miss'] as const).entries()) {
    await vi.waitFor(() => expect(pings).toHaveLength(at + 1), { timeout: 10_000 });
    pings[at]?.[end]();
  }
  await vi.waitFor(() => expect(pings).toHaveLength(4), { timeout: 10_000 });
  expect(silent).toEqual([]);
  expect(member.missedPings).toBe(1);
});

test('a connection that misses pings but answers other requests is not reported as silent', async () => {
  const { pings, member } = pinged(() => Promise.resolve());
  watch(member);
  for (let at = 0; at < 5; at += 1) {
    await vi.waitFor(() => expect(pings).toHaveLength(at + 1), { timeout: 10_000 });
    pings[at]?.miss();
  }
  await sleep(20);
  expect(silent).toEqual([]);
});

test('a connection with a call in flight is not pinged, and a ping missed meanwhile does not count', async () => {
  const { pings, member } = pinged();
  watch(member);
  for (let at = 0; at < 3; at += 1) {
    await vi.waitFor(() => expect(pings).toHaveLength(at + 1), { timeout: 10_000 });
    member.inFlight = 1;
    pings[at]?.miss();
    await sleep(50);
    expect([pings.length, silent]).toEqual([at + 1, []]);
    member.inFlight = 0;
  }
});
