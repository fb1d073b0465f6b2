// Merges resources when some changed files are invalid: the new resources of valid files, and the previous
// resources of invalid files. Errors in one file do not stop triggers or delay changes in other files.

import { sep } from 'node:path';
import { isError } from '../../../config/reader/problem.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import { targetsOfFleet, targetsOfFlow, targetsOfTrigger } from '../../../config/resources/named-targets.ts';
import { isSameTarget, type Target, type TargetKind } from '../../../config/resources/triggers/target.ts';

interface Resource {
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
}

/** Returns the merged resources with the problems of `next`. `before` are the resources in use. */
export function lastGoodResources(next: LoadedResources, before: LoadedResources): LoadedResources {
  const invalidFiles = new Set(next.problems.filter(isError).map(({ file }) => file));
  // An unreadable folder makes all files in it invalid.
  const isInvalid = ({ file }: Pick<Resource, 'file'>) =>
    invalidFiles.has(file) || [...invalidFiles].some((each) => file.startsWith(`${each}${sep}`));
  const triggers = mergeResources(next.triggers, before.triggers, isInvalid);
  // A removed resource stays while another resource refers to it; references go from triggers to agents.
  const referenced: Target[] = triggers.flatMap(targetsOfTrigger);
  const flows = withReferenced(
    'flow',
    mergeResources(next.flows, before.flows, isInvalid),
    before.flows,
    referenced,
  );
  referenced.push(...flows.flatMap(targetsOfFlow));
  const fleets = withReferenced(
    'fleet',
    mergeResources(next.fleets, before.fleets, isInvalid),
    before.fleets,
    referenced,
  );
  referenced.push(...fleets.flatMap(targetsOfFleet));
  const agents = withReferenced(
    'agent',
    mergeResources(next.agents, before.agents, isInvalid),
    before.agents,
    referenced,
  );
  // Digests of the resources, by file.
  const digestsOf = (all: LoadedResources['digests'], isUsed: (file: string) => boolean) =>
    [...(all ?? [])].filter(([file]) => isUsed(file));
  const digests = new Map([
    ...digestsOf(next.digests, (file) => !isInvalid({ file })),
    ...digestsOf(before.digests, (file) => isInvalid({ file })),
  ]);
  const { problems, secrets } = next;
  return { triggers, agents, fleets, flows, problems, secrets, digests };
}

function mergeResources<T extends Resource>(
  next: readonly T[],
  before: readonly T[],
  isInvalid: (resource: T) => boolean,
): readonly T[] {
  const valid = next.filter((resource) => !isInvalid(resource));
  const names = new Set(valid.map(({ name }) => name));
  return [...valid, ...before.filter((resource) => isInvalid(resource) && !names.has(resource.name))];
}

function withReferenced<T extends Resource>(
  kind: TargetKind,
  resources: readonly T[],
  before: readonly T[],
  referenced: readonly Target[],
): readonly T[] {
  const names = new Set(resources.map(({ name }) => name));
  const isMissing = ({ name }: T) =>
    !names.has(name) && referenced.some((target) => isSameTarget(target, { kind, name }));
  return [...resources, ...before.filter(isMissing)];
}
