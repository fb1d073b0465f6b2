// Servers of agents over random sequences of runs and reloads.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ServerLease } from '../../../../../actors/agents/model-agent/agent-servers.ts';
import { entryOf, ownedServers, serverOf } from '../../../../fixtures/agents/owned-servers.ts';

const MAX_SERVERS = 6;
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

test('servers of agents run while runs use them, stop when unneeded, and never exceed the limit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { owned, ended, serverIds } = ownedServers(MAX_SERVERS);
      const leases: { lease: ServerLease; agent: string; command: string }[] = [];
      let loaded: Readonly<Record<string, string>> = {};
      for (const one of steps) {
        const before = serverIds();
        if (one.does === 'load') {
          loaded = one.agents;
          const agents = Object.entries(loaded).map(([name, entry]) => ({
            name,
            servers: [serverOf('s', entry)],
          }));
          owned.setLoaded(agents);
        } else if (one.does === 'release') {
          leases.splice(one.which % Math.max(1, leases.length), 1)[0]?.lease.release();
        } else {
          try {
            leases.push({ ...one, lease: owned.lease(one.agent, 's', entryOf(one.command)) });
          } catch (error) {
            expect(error).toMatchObject({ code: 'ERR_OVERLOADED', isUnsent: true });
            // An agent may use at most as many servers as slots are free, so that other agents find a slot.
            // One more server would break this rule even if all unused servers were stopped. Therefore no
            // unused server was stopped.
            const leasedServers = [...new Set(leases.map((lease) => `${lease.agent} ${lease.command}`))];
            const own = leasedServers.filter((key) => key.startsWith(one.agent));
            expect(own.length + 1).toBeGreaterThan(MAX_SERVERS - leasedServers.length);
            expect(serverIds()).toEqual(before);
          }
        }
        const startedServers = new Map<string, unknown>();
        for (const { lease, agent: name, command: entry } of leases) {
          const server = await lease.server();
          expect(ended).not.toContain(server);
          expect(server.id).toBe(`${name}/s`);
          const key = `${name} ${entry}`;
          expect(startedServers.get(key) ?? server).toBe(server);
          startedServers.set(key, server);
        }
        expect(new Set(startedServers.values()).size).toBe(startedServers.size);
        expect(serverIds().length).toBeLessThanOrEqual(
          Math.min(MAX_SERVERS, startedServers.size + Object.keys(loaded).length),
        );
      }
      owned.setLoaded([]);
      for (const { lease } of leases) lease.release();
      expect(serverIds()).toEqual([]);
    }),
  );
});
