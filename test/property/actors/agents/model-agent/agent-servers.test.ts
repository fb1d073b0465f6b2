// Tool servers defined in the files of agents: at most MAX_SERVERS exist. A server starts when a run leases
// it (reserves it for its duration). Random steps lease a server, release a lease, or load other definitions.
// A leased server never stops, equal leases share one server, and unneeded servers stop.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ServerLease } from '../../../../../actors/agents/model-agent/agent-servers.ts';
import { entryOf, ownedServers, serverOf } from '../../../../fixtures/agents/owned-servers.ts';

const MAX_SERVERS = 6;
const agent = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const command = fc.constantFrom('one', 'two', 'three');

const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('lease' as const), agent, command }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('release' as const), index: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('load' as const),
      agents: fc.dictionary(agent, command, { noNullPrototype: true }),
    }),
  },
);

test('servers of agents run while runs use them, stop when unneeded, and never exceed the limit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 60 }), async (steps) => {
      const { owned, ended, serverIds } = ownedServers(MAX_SERVERS);
      const leases: { lease: ServerLease; agent: string; command: string }[] = [];
      /** Commands of the loaded agents' servers, by agent. */
      let loaded: Readonly<Record<string, string>> = {};
      for (const step of steps) {
        const before = serverIds();
        if (step.do === 'load') {
          loaded = step.agents;
          const agents = Object.entries(loaded).map(([name, ownCommand]) => ({
            name,
            servers: [serverOf('s', ownCommand)],
          }));
          owned.setLoaded(agents);
        } else if (step.do === 'release') {
          leases.splice(step.index % Math.max(1, leases.length), 1)[0]?.lease.release();
        } else {
          try {
            leases.push({ ...step, lease: owned.lease(step.agent, 's', entryOf(step.command)) });
          } catch (error) {
            expect(error).toMatchObject({ code: 'ERR_OVERLOADED', isUnsent: true });
            // An agent may use no more servers than are still free below MAX_SERVERS, so that other agents
            // get servers too. One more server would break this rule even if all unused servers were stopped.
            // Therefore the refusal stopped no server.
            const leasedServers = [...new Set(leases.map((lease) => `${lease.agent} ${lease.command}`))];
            const serversOfAgent = leasedServers.filter((key) => key.startsWith(step.agent));
            expect(serversOfAgent.length + 1).toBeGreaterThan(MAX_SERVERS - leasedServers.length);
            expect(serverIds()).toEqual(before);
          }
        }
        const startedServers = new Map<string, unknown>();
        for (const { lease, ...leased } of leases) {
          const server = await lease.server();
          expect(ended).not.toContain(server);
          expect(server.id).toBe(`${leased.agent}/s`);
          const key = `${leased.agent} ${leased.command}`;
          expect(startedServers.get(key) ?? server).toBe(server);
          startedServers.set(key, server);
        }
        expect(new Set(startedServers.values()).size).toBe(startedServers.size);
        // Other servers than the leased ones belong to loaded agents, one per agent.
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
