// Runs that begin and end, and reloads, in any order.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ServerLease } from '../../../../../actors/agents/model-agent/agent-servers.ts';
import { entryOf, ownedServers, serverOf } from '../../../../fixtures/agents/owned-servers.ts';

const MOST = 6;
const agent = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const command = fc.constantFrom('one', 'two', 'three');

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('lease' as const), agent, command }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('release' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('load' as const),
      agents: fc.dictionary(agent, command, { noNullPrototype: true }),
    }),
  },
);

test('what a run uses stays, what nobody wants is gone, and there are never too many (HID1–HID3)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { owned, ended, there } = ownedServers(MOST);
      const leases: { lease: ServerLease; agent: string; command: string }[] = [];
      let loaded: Readonly<Record<string, string>> = {};
      for (const one of steps) {
        const before = there();
        if (one.does === 'load') {
          loaded = one.agents;
          const agents = Object.entries(loaded).map(([name, entry]) => ({
            name,
            servers: [serverOf('s', entry)],
          }));
          owned.want(agents);
        } else if (one.does === 'release') {
          leases.splice(one.which % Math.max(1, leases.length), 1)[0]?.lease.release();
        } else {
          try {
            leases.push({ ...one, lease: owned.lease(one.agent, 's', entryOf(one.command)) });
          } catch (error) {
            expect(error).toMatchObject({ code: 'ERR_OVERLOADED', isUnsent: true });
            // Those that no run uses could not have made enough room, so that none was ended for it.
            const used = [...new Set(leases.map((lease) => `${lease.agent} ${lease.command}`))];
            const own = used.filter((key) => key.startsWith(one.agent));
            expect(own.length + 1).toBeGreaterThan(MOST - used.length);
            expect(there()).toEqual(before);
          }
        }
        const used = new Map<string, unknown>();
        for (const { lease, agent: name, command: entry } of leases) {
          const server = await lease.server();
          expect(ended).not.toContain(server);
          expect(server.id).toBe(`${name}/s`);
          const key = `${name} ${entry}`;
          expect(used.get(key) ?? server).toBe(server);
          used.set(key, server);
        }
        expect(new Set(used.values()).size).toBe(used.size);
        expect(there().length).toBeLessThanOrEqual(Math.min(MOST, used.size + Object.keys(loaded).length));
      }
      owned.want([]);
      for (const { lease } of leases) lease.release();
      expect(there()).toEqual([]);
    }),
  );
});
