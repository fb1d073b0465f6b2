// The queue of waiting calls of a server. Calls of three sessions, and of clients without a session, arrive
// and leave in random order. A list is the model of the queue.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import type { CallOwner } from '../../../../../../actors/mcp/servers/calls/owner.ts';
import { CallQueue } from '../../../../../../actors/mcp/servers/calls/queue.ts';

const owners = [undefined, ...['a', 'b', 'c'].map((label) => ({ label }) as CallOwner)];
const callOf = (owner: CallOwner | undefined) => ({ owner }) as Call;

const anySteps = fc.array(fc.record({ ownerIndex: fc.nat(3), isArrival: fc.boolean() }), { maxLength: 80 });

test('a shared call queue never exceeds its limit: a session with few calls displaces a call of a session with more calls', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), anySteps, (limit, steps) => {
      const queue = new CallQueue(limit, true);
      const waiting: Call[] = [];
      const countOf = (owner: CallOwner | undefined) => waiting.filter((call) => call.owner === owner).length;
      for (const { ownerIndex, isArrival } of steps) {
        const owner = owners[ownerIndex];
        if (!isArrival) {
          const leaving = waiting.find((call) => call.owner === owner);
          if (leaving === undefined) continue;
          waiting.splice(waiting.indexOf(leaving), 1);
          queue.delete(leaving);
        } else if (waiting.length < limit) {
          // A queue with space accepts a call even of an owner of all waiting calls.
          expect(queue.isFullFor(owner)).toBe(false);
          const call = callOf(owner);
          waiting.push(call);
          queue.add(call);
        } else {
          expect(queue.isFullFor(owner)).toBe(true);
          // The owner with most calls loses its newest call, if the new owner still has fewer calls
          // afterwards.
          const maxCount = Math.max(...owners.map(countOf));
          const displaced = queue.displace(owner);
          if (maxCount <= countOf(owner) + 1) {
            expect(displaced).toBeUndefined();
            continue;
          }
          expect(countOf(displaced?.owner)).toBe(maxCount);
          expect(displaced).toBe(waiting.findLast((call) => call.owner === displaced?.owner));
          waiting.splice(waiting.indexOf(displaced as Call), 1);
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
