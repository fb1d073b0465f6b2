// Names in the tools and the policy of an agent that match no tool of its servers.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ModelAgent } from '../../../../../actors/agents/model-agent/model-agent.ts';
import { unmatchedNames } from '../../../../../actors/agents/model-agent/unmatched-names.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { aFoundTool, aRuntime, modelAnswer } from '../../../../fixtures/agents/agent-world.ts';
import { freeSlots } from '../../../../fixtures/agents/free-slots.ts';
import { aContext } from '../../../../fixtures/automation/contexts.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';

const policy = (ask: readonly string[], deny: readonly string[] = []) => ({
  ...aRuntime().policy,
  ask,
  deny,
});
const servers = ['files', 'shop'].map((name) => ({
  name,
  entry: undefined,
  tools: { allow: ['*'], deny: [] },
}));
const foundTools = [
  { server: 'files', tool: 'read_file' },
  { server: 'files', tool: 'write_file' },
  { server: 'shop', tool: 'pay' },
];

it('unmatchedNames returns configured names that match no tool, except wildcards and groups of a policy', () => {
  const tools = ['read_*', 'reed_*', 'pay', 'files/pay', 'shop/pay', '*/pay', 'shop/*_file'];
  expect(unmatchedNames({ tools, policy: policy([]), servers }, foundTools)).toEqual([
    'tools: reed_*',
    'tools: files/pay',
    'tools: shop/*_file',
  ]);
  expect(
    unmatchedNames(
      {
        tools: ['files__pay', 'shop__pay', 'files__read_*'],
        policy: policy(['pya', 'pay', 'destructive', '*delete*'], ['readonly', 'shop/rm']),
        servers,
      },
      foundTools,
    ),
  ).toEqual(['tools: files__pay', 'policy.ask: pya', 'policy.deny: shop/rm']);
});

it('a configured tool name is unmatched if and only if no tool has this name', () => {
  const name = fc.stringMatching(/^[a-z_.-]{1,8}$/);
  fc.assert(
    fc.property(fc.array(name), fc.array(fc.record({ server: name, tool: name })), (tools, offered) => {
      const names = new Set(offered.map(({ tool }) => tool));
      expect(unmatchedNames({ tools, policy: policy([]), servers: [] }, offered)).toEqual(
        tools.filter((each) => !names.has(each)).map((each) => `tools: ${each}`),
      );
    }),
  );
});

it('an agent logs only once that configured names match no tool', async () => {
  const lines: unknown[] = [];
  const agent = new ModelAgent(aRuntime({ tools: ['read_fiel'], policy: policy([]) }), '/a.yaml', {
    slots: freeSlots,
    models: { ask: async () => modelAnswer('ok') },
    toolBoxes: {
      open: () => ({
        list: async () => [aFoundTool('read_file')],
        call: () => Promise.reject(),
        release: () => {},
      }),
    },
    readDefinition: () => aRuntime(),
    log: { ...silentLog, warn: (...line: unknown[]) => lines.push(line) },
  });
  for (let n = 0; n < 2; n++) await agent.run(aJob(), aContext());
  expect(lines).toEqual([
    [{ agent: 'reviewer', names: ['tools: read_fiel'] }, 'agent file names unknown tools'],
  ]);
});
