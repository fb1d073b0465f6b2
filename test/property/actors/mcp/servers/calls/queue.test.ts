// The queue of waiting calls of a server. Calls of the sessions of three clients, and of unknown clients
// without a session, arrive and leave in random order. A list is the model of the queue.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Call } from '../../../../../../actors/mcp/servers/calls/call.ts';
import { ClientShares } from '../../../../../../actors/mcp/servers/calls/client-shares.ts';
import type { CallOwner } from '../../../../../../actors/mcp/servers/calls/owner.ts';
import { CallQueue } from '../../../../../../actors/mcp/servers/calls/queue.ts';

/** Clients, represented by their shares of the limits. */
const clients = [undefined, ...Array.from({ length: 3 }, () => new ClientShares())];
const sessions = [undefined, ...['a', 'b', 'c'].map((label) => ({ label }) as CallOwner)];
const callOf = (client: ClientShares | undefined, owner: CallOwner | undefined) =>
  ({ client, owner }) as Call;

const anySteps = fc.array(
  fc.record({
    client: fc.constantFrom(...clients),
    owner: fc.constantFrom(...sessions),
    isArrival: fc.boolean(),
  }),
  { maxLength: 80 },
);

test.each([
  ['shared by all sessions', true],
  ['with a limit per session', false],
])(
  'a call queue %s never exceeds its limit: a client with few calls displaces a call of a client with more calls under the same limit',
  (_, isShared) => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), anySteps, (limit, steps) => {
        const queue = new CallQueue(limit, isShared);
        const waiting: Call[] = [];
        for (const { client, owner, isArrival } of steps) {
          const call = callOf(client, owner);
          const hasSameLimit = (other: Call) => isShared || other.owner === owner;
          const limited = waiting.filter(hasSameLimit);
          const countOf = (each: ClientShares | undefined) =>
            limited.filter((other) => other.client === each).length;
          expect(queue.isFullFor(call)).toBe(limited.length >= limit);
          if (!isArrival) {
            const leaving = limited.find((other) => other.client === client);
            if (leaving === undefined) continue;
            waiting.splice(waiting.indexOf(leaving), 1);
            queue.delete(leaving);
          } else {
            if (limited.length >= limit) {
              // The client with most calls loses its newest call. But it must keep at least as many calls as
              // the client of the new call then has.
              const maxCount = Math.max(...clients.map(countOf));
              const displaced = queue.displace(call);
              if (maxCount <= countOf(client) + 1) {
                expect(displaced).toBeUndefined();
                continue;
              }
              expect(countOf(displaced?.client)).toBe(maxCount);
              expect(displaced).toBe(limited.findLast((other) => other.client === displaced?.client));
              waiting.splice(waiting.indexOf(displaced as Call), 1);
            }
            waiting.push(call);
            queue.add(call);
          }
          expect([...queue.calls]).toEqual(waiting);
        }
      }),
    );
  },
);
