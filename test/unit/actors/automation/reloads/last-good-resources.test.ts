// Resources in effect after a change with invalid files.

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
const loadedResources = (triggers: Trigger[], agents: Agent[], ...bad: string[]): LoadedResources => ({
  triggers,
  agents,
  fleets: [],
  flows: [],
  problems: bad.map((file) => ({ file, line: 1, column: 1, message: 'bad', severity: 'error' as const })),
  secrets: [],
});
const namesIn = ({ triggers, agents }: LoadedResources) => [
  triggers.map(({ name }) => name),
  agents.map(({ name }) => name),
];

const before = loadedResources(
  [trigger('x', 'x.yaml'), trigger('y', 'y.yaml', 'b')],
  [agent('a', 'a.yaml'), agent('b', 'b.yaml')],
);

test('an invalid file keeps its previous resources and does not block other files', () => {
  const next = loadedResources([trigger('z', 'z.yaml')], [agent('a', 'a.yaml')], '/t/y.yaml');
  // x is removed and z added. y is invalid, so the previous version is kept, together with the agent that y
  // uses.
  expect(namesIn(lastGoodResources(next, before))).toEqual([
    ['z', 'y'],
    ['a', 'b'],
  ]);
});

test('an unreadable folder removes no trigger and no agent', () => {
  expect(namesIn(lastGoodResources(loadedResources([], [agent('a', 'a.yaml')], '/t'), before))).toEqual([
    ['x', 'y'],
    ['a', 'b'],
  ]);
});

test('a trigger that moved from an invalid file to a valid file is read from the valid file', () => {
  const next = loadedResources(
    [trigger('y', 'new.yaml')],
    [agent('a', 'a.yaml'), agent('b', 'b.yaml')],
    '/t/y.yaml',
  );
  expect(lastGoodResources(next, before).triggers.map(({ file }) => file)).toEqual(['/t/new.yaml']);
});
