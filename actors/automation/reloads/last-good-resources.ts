// Chooses the resources to be used after files have changed and some of them are bad: of a bad file the last good
// resources, of the others those that are there now. An error in one file must neither stop a trigger nor hold up the
// others.

import { sep } from 'node:path';
import { isError } from '../../../config/reader/problem.ts';
import type { Agent } from '../../../config/resources/agents/agent.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import { agentTarget, isSameTarget } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';

/** `before` is what is in use. The problems are those of `next`. */
export function lastGoodResources(next: LoadedResources, before: LoadedResources): LoadedResources {
  const bad = new Set(next.problems.filter(isError).map(({ file }) => file));
  // A folder that cannot be read is a bad file with everything in it.
  const isBad = ({ file }: Trigger | Agent) =>
    bad.has(file) || [...bad].some((each) => file.startsWith(`${each}${sep}`));
  const triggers = merged(next.triggers, before.triggers, isBad);
  const agents = merged(next.agents, before.agents, isBad);
  const missing = before.agents.filter(
    ({ name }) =>
      agents.every((agent) => agent.name !== name) && triggers.some((trigger) => refersTo(trigger, name)),
  );
  return { triggers, agents: [...agents, ...missing], problems: next.problems };
}

function merged<T extends Trigger | Agent>(
  next: readonly T[],
  before: readonly T[],
  isBad: (resource: T) => boolean,
): readonly T[] {
  const good = next.filter((resource) => !isBad(resource));
  const names = new Set(good.map(({ name }) => name));
  return [...good, ...before.filter((resource) => isBad(resource) && !names.has(resource.name))];
}

function refersTo({ default_target, commands, rules = [] }: Trigger, agent: string): boolean {
  const targets = [default_target, ...[...commands, ...rules].map(({ target }) => target)];
  return targets.some((target) => isSameTarget(target, agentTarget(agent)));
}
