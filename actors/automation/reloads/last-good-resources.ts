// Chooses the resources to be used after files have changed and some of them are bad: of a bad file the last good
// resources, of the others those that are there now. An error in one file must neither stop a trigger nor hold up the
// others.

import { sep } from 'node:path';
import { isError } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import { targetsOfFleet, targetsOfFlow, targetsOfTrigger } from '../../../config/resources/named-targets.ts';
import { isSameTarget, type Target, type TargetKind } from '../../../config/resources/triggers/target.ts';

interface Resource {
  readonly name: string;
  /** Absolute. */
  readonly file: string;
}

/** `before` is what is in use. The problems are those of `next`. */
export function lastGoodResources(next: LoadedResources, before: LoadedResources): LoadedResources {
  const bad = new Set(next.problems.filter(isError).map(({ file }) => file));
  // A folder that cannot be read is a bad file with everything in it.
  const isBad = ({ file }: Pick<Resource, 'file'>) =>
    bad.has(file) || [...bad].some((each) => file.startsWith(`${each}${sep}`));
  const triggers = merged(next.triggers, before.triggers, isBad);
  // What is gone and named by what is kept is kept too, from what names most to what is only named.
  const named: Target[] = triggers.flatMap(targetsOfTrigger);
  const flows = withNamed('flow', merged(next.flows, before.flows, isBad), before.flows, named);
  named.push(...flows.flatMap(targetsOfFlow));
  const fleets = withNamed('fleet', merged(next.fleets, before.fleets, isBad), before.fleets, named);
  named.push(...fleets.flatMap(targetsOfFleet));
  const agents = withNamed('agent', merged(next.agents, before.agents, isBad), before.agents, named);
  const printsOf = (prints: LoadedResources['prints'], isUsed: (file: string) => boolean) =>
    [...(prints ?? [])].filter(([file]) => isUsed(file));
  const prints = new Map([
    ...printsOf(next.prints, (file) => !isBad({ file })),
    ...printsOf(before.prints, (file) => isBad({ file })),
  ]);
  const { problems, secrets } = next;
  return { triggers, agents, fleets, flows, problems, secrets, prints };
}

function merged<T extends Resource>(
  next: readonly T[],
  before: readonly T[],
  isBad: (resource: T) => boolean,
): readonly T[] {
  const good = next.filter((resource) => !isBad(resource));
  const names = new Set(good.map(({ name }) => name));
  return [...good, ...before.filter((resource) => isBad(resource) && !names.has(resource.name))];
}

function withNamed<T extends Resource>(
  kind: TargetKind,
  used: readonly T[],
  before: readonly T[],
  named: readonly Target[],
): readonly T[] {
  const names = new Set(used.map(({ name }) => name));
  const isMissing = ({ name }: T) =>
    !names.has(name) && named.some((target) => isSameTarget(target, { kind, name }));
  return [...used, ...before.filter(isMissing)];
}
