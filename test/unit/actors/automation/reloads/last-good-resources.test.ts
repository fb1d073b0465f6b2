// What is used after files have changed and some of them are bad.

import { expect, test } from 'vitest';
import { lastGoodResources } from '../../../../../actors/automation/reloads/last-good-resources.ts';
import type { Agent } from '../../../../../config/resources/agents/agent.ts';
import type { LoadedResources } from '../../../../../config/resources/load-resources.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';

const trigger = (name: string, file: string, default_agent = 'a') =>
  ({
    name,
    file: `/t/${file}`,
    default_target: agentTarget(default_agent),
    commands: [],
  }) as unknown as Trigger;
const agent = (name: string, file: string) => ({ name, file: `/a/${file}` }) as unknown as Agent;
const loaded = (triggers: Trigger[], agents: Agent[], ...bad: string[]): LoadedResources => ({
  triggers,
  agents,
  fleets: [],
  flows: [],
  problems: bad.map((file) => ({ file, line: 1, column: 1, message: 'bad', severity: 'error' as const })),
  secrets: [],
});
const named = ({ triggers, agents }: LoadedResources) => [
  triggers.map(({ name }) => name),
  agents.map(({ name }) => name),
];

const before = loaded(
  [trigger('x', 'x.yaml'), trigger('y', 'y.yaml', 'b')],
  [agent('a', 'a.yaml'), agent('b', 'b.yaml')],
);

test('a bad file keeps what was good in it, and holds up no other', () => {
  const next = loaded([trigger('z', 'z.yaml')], [agent('a', 'a.yaml')], '/t/y.yaml');
  // x was removed, z has come; y stays as it was, and with it the agent that it needs.
  expect(named(lastGoodResources(next, before))).toEqual([
    ['z', 'y'],
    ['a', 'b'],
  ]);
});

test('a folder that cannot be read removes nothing', () => {
  expect(named(lastGoodResources(loaded([], [agent('a', 'a.yaml')], '/t'), before))).toEqual([
    ['x', 'y'],
    ['a', 'b'],
  ]);
});

test('a name that has gone to another file is that one', () => {
  const next = loaded([trigger('y', 'new.yaml')], [agent('a', 'a.yaml'), agent('b', 'b.yaml')], '/t/y.yaml');
  expect(lastGoodResources(next, before).triggers.map(({ file }) => file)).toEqual(['/t/new.yaml']);
});
