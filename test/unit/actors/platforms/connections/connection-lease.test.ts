// Lease of an account, with random acquisitions, releases and aborts.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type HeldLease, LocalLease } from '../../../../../actors/platforms/connections/connection-lease.ts';

test('the lease of an account has one holder at a time, in order of request, and is released at the end', async () => {
  const step = fc.record({ do: fc.constantFrom('take', 'release', 'giveUp'), at: fc.nat(3) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const lease = new LocalLease();
      const settle = () => new Promise((resolve) => setImmediate(resolve));
      const holders: { readonly number: number; readonly held: HeldLease }[] = [];
      const waiting = new Map<number, AbortController>();
      const order: number[] = [];
      let count = 0;
      for (const { do: what, at } of steps) {
        if (what === 'take') {
          const number = count++;
          const abort = new AbortController();
          waiting.set(number, abort);
          lease.acquire('botmessenger/42', abort.signal).then(
            (held) => {
              waiting.delete(number);
              order.push(number);
              holders.push({ number, held });
            },
            () => waiting.delete(number),
          );
        } else if (what === 'release') holders.shift()?.held.release();
        else [...waiting.values()][at]?.abort(new Error('aborted'));
        await settle();
        expect(holders.length).toBeLessThanOrEqual(1);
        expect(holders.length === 1 || waiting.size === 0).toBe(true);
      }
      expect(order).toEqual([...order].sort((a, b) => a - b));
      while (holders.length > 0) {
        holders.shift()?.held.release();
        await settle();
      }
      expect(waiting.size).toBe(0);
      const free = await lease.acquire('botmessenger/42', new AbortController().signal);
      free.release();
    }),
    { numRuns: 200 },
  );
});
