// The waiting room of a server under any order of arrivals and departures of several sessions.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import type { CallOwner } from '../../../../../../actors/mcp/servers/calls/call-owner.ts';
import { CallQueue } from '../../../../../../actors/mcp/servers/calls/call-queue.ts';

const owners = [undefined, ...['a', 'b', 'c'].map((label) => ({ label }) as CallOwner)];
const callOf = (owner: CallOwner | undefined) => ({ owner }) as Call;

const steps = fc.array(fc.record({ who: fc.nat(3), isArrival: fc.boolean() }), { maxLength: 80 });

test('a room for all is never overfull, gives one session all of it, and whoever has least of it a place (CQ3)', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), steps, (places, order) => {
      const room = new CallQueue(places, true);
      const waiting: Call[] = [];
      const count = (owner: CallOwner | undefined) => waiting.filter((call) => call.owner === owner).length;
      for (const { who, isArrival } of order) {
        const owner = owners[who];
        if (!isArrival) {
          const leaving = waiting.find((call) => call.owner === owner);
          if (leaving === undefined) continue;
          waiting.splice(waiting.indexOf(leaving), 1);
          room.delete(leaving);
        } else if (waiting.length < places) {
          // Also where all of the others are its own.
          expect(room.isFullFor(owner)).toBe(false);
          const call = callOf(owner);
          waiting.push(call);
          room.add(call);
        } else {
          expect(room.isFullFor(owner)).toBe(true);
          const most = Math.max(...owners.map(count));
          const out = room.giveWay(owner);
          if (most <= count(owner) + 1) {
            expect(out).toBeUndefined();
            continue;
          }
          expect(count(out?.owner)).toBe(most);
          expect(out).toBe(waiting.findLast((call) => call.owner === out?.owner));
          waiting.splice(waiting.indexOf(out as Call), 1);
          const call = callOf(owner);
          waiting.push(call);
          room.add(call);
        }
        expect([...room.calls]).toEqual(waiting);
      }
    }),
  );
});

test('a room with places for each session turns nobody out for another (CQ1)', () => {
  const room = new CallQueue(2, false);
  const [, a, b] = owners;
  for (const owner of [a, a, b]) room.add(callOf(owner));
  expect([room.isFullFor(a), room.isFullFor(b)]).toEqual([true, false]);
  expect(room.giveWay(a)).toBeUndefined();
});
