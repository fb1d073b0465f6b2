// Health checks of connections that answer, or do not.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { Health } from '../../../../../../actors/mcp/servers/life/health.ts';
import type { PoolMember } from '../../../../../../actors/mcp/servers/pool/pool-member.ts';

/** A connection whose pings end when the test says so. */
function pinged() {
  const pings: { answer(): void; miss(): void }[] = [];
  const connection = {
    lastHeardAt: Number.NEGATIVE_INFINITY,
    isEnded: false,
    ping: () =>
      new Promise<void>((resolve, reject) => {
        pings.push({ answer: resolve, miss: () => reject(new Error('no answer')) });
      }),
  };
  const member = { connection, isOpen: true, isClosing: undefined, missedPings: 0, isPinged: false };
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

test('a connection has one ping under way, however short the interval: two misses follow each other (HE1)', async () => {
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

test('an answer begins the count anew', async () => {
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
