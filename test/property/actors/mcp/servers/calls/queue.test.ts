// The call queue per server, with arrivals and departures of several sessions in random order.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import type { CallOwner } from '../../../../../../actors/mcp/servers/calls/owner.ts';
import { CallQueue } from '../../../../../../actors/mcp/servers/calls/queue.ts';

const owners = [undefined, ...['a', 'b', 'c'].map((label) => ({ label }) as CallOwner)];
const callOf = (owner: CallOwner | undefined) => ({ owner }) as Call;

const steps = fc.array(fc.record({ who: fc.nat(3), isArrival: fc.boolean() }), { maxLength: 80 });

test('a shared queue never exceeds its limit, and a session with fewer calls displaces a call of one with more', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), steps, (limit, order) => {
      const queue = new CallQueue(limit, true);
      const waiting: Call[] = [];
      const count = (owner: CallOwner | undefined) => waiting.filter((call) => call.owner === owner).length;
      for (const { who, isArrival } of order) {
        const owner = owners[who];
        if (!isArrival) {
          const leaving = waiting.find((call) => call.owner === owner);
          if (leaving === undefined) continue;
          waiting.splice(waiting.indexOf(leaving), 1);
          queue.delete(leaving);
        } else if (waiting.length < limit) {
          // Even if all waiting calls belong to it.
          expect(queue.isFullFor(owner)).toBe(false);
          const call = callOf(owner);
          waiting.push(call);
          queue.add(call);
        } else {
          expect(queue.isFullFor(owner)).toBe(true);
          const maxCount = Math.max(...owners.map(count));
          const out = queue.displace(owner);
          if (maxCount <= count(owner) + 1) {
            expect(out).toBeUndefined();
            continue;
          }
          expect(count(out?.owner)).toBe(maxCount);
          expect(out).toBe(waiting.findLast((call) => call.owner === out?.owner));
          waiting.splice(waiting.indexOf(out as Call), 1);
          const call = callOf(owner);
          waiting.push(call);
          queue.add(call);
        }
        expect([...queue.calls]).toEqual(waiting);
      }
    }),
  );
});

test('a call queue with a limit per session displaces no call', () => {
  const queue = new CallQueue(2, false);
  const [, a, b] = owners;
  for (const owner of [a, a, b]) queue.add(callOf(owner));
  expect([queue.isFullFor(a), queue.isFullFor(b)]).toEqual([true, false]);
  expect(queue.displace(a)).toBeUndefined();
});
