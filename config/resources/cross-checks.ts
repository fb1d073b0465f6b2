// What is right by itself may be wrong beside others: names that are there twice, names that are not there, paths that two types
// want, and triggers between which only their names decide.

import { checkFleet } from './fleets/fleet-checks.ts';
import { checkFlow } from './flows/flow-checks.ts';
import { KnownTargets } from './known-targets.ts';
import type { ReadResource } from './resource-context.ts';
import { agentTarget, isSameTarget } from './triggers/target.ts';
import type { Trigger } from './triggers/trigger.ts';
import type { ReadOfType } from './triggers/trigger-type.ts';
import { triggerTypes } from './triggers/trigger-types.ts';

export interface Beside {
  readonly defaultAgent: string | undefined;
  /** What is named may be in files that were not given. */
  readonly isPartial: boolean;
  /** Ids of the servers of the catalog; undefined where they are not known. */
  readonly servers: readonly string[] | undefined;
}

/** Reports to the readers of the resources. */
export function crossCheck(resources: readonly ReadResource[], beside: Beside): void {
  checkNames(resources);
  checkTargets(resources, beside);
  checkTypes(resources);
  checkPaths(resources);
}

function checkNames(resources: readonly ReadResource[]): void {
  const first = new Map<string, ReadResource>();
  for (const resource of resources) {
    const { kind, name, reader } = resource;
    if (kind === undefined || name === undefined) continue;
    const key = `${kind}/${name}`;
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, resource);
    else {
      const { file, line } = earlier.reader.problemAt('metadata.name', '');
      reader.report('metadata.name', `there is a ${kind} ${name} already, in ${file}:${line}`);
    }
  }
}

function checkTargets(
  resources: readonly ReadResource[],
  { defaultAgent, isPartial, servers }: Beside,
): void {
  const known = new KnownTargets(resources, isPartial);
  for (const { reader, references = [], fleet, flow } of resources) {
    for (const { target, path } of references) known.check(reader, path, target);
    if (fleet !== undefined) checkFleet(reader, fleet, known.agents, known.severityOf('agent'));
    if (flow !== undefined)
      checkFlow(
        reader,
        flow,
        { agents: known.agents, fleets: known.namesOf('fleet'), servers },
        known.severityOf('agent'),
      );
  }
  if (defaultAgent === undefined) return;
  const target = agentTarget(defaultAgent);
  const relying = resources.find(({ trigger }) => isSameTarget(trigger?.default_target, target));
  const fault = known.faultOf(target);
  if (fault === undefined || relying === undefined || relying.reader.has('spec.default_agent')) return;
  relying.reader.report(
    'spec',
    `${fault}, and it is the default_agent of the daemon's configuration`,
    known.severityOf('agent'),
  );
}

/** What each type has to say of its triggers together. */
function checkTypes(resources: readonly ReadResource[]): void {
  const ofType = new Map<Trigger['type'], ReadOfType<object>[]>();
  for (const { reader, trigger } of resources) {
    // What is not known here is neither the same as another trigger's nor different from it.
    if (trigger === undefined || reader.isUnset('spec.config')) continue;
    const all = ofType.get(trigger.type) ?? [];
    ofType.set(trigger.type, all);
    all.push({ reader, trigger });
  }
  for (const [type, all] of ofType) triggerTypes[type].checkAll?.(all);
}

function checkPaths(resources: readonly ReadResource[]): void {
  const ownerOf = new Map<string, Trigger>();
  const earlierAt = new Map<string, Trigger[]>();
  for (const { reader, trigger } of resources) {
    const place = trigger?.enabled === true ? placeOf(trigger) : undefined;
    if (trigger === undefined || place === undefined) continue;
    const owner = firstOf(ownerOf, place, trigger);
    if (owner.type !== trigger.type) {
      const path = reader.has('spec.config.path') ? 'spec.config.path' : 'spec.config';
      reader.report(path, `trigger ${owner.name} has this path already, and is of type ${owner.type}`);
      continue;
    }
    const earlier = earlierAt.get(place) ?? [];
    // Two of one name are an error already.
    const twin = earlier.find((other) => other.name !== trigger.name && isAmbiguous(other, trigger));
    earlierAt.set(place, earlier);
    earlier.push(trigger);
    if (twin === undefined) continue;
    const [winner] = [trigger.name, twin.name].sort();
    const message = `trigger ${twin.name} takes the same events; decided by name, ${winner} gets them`;
    reader.report('metadata.name', message, 'warning');
  }
}

/** Who was there first; the newcomer where nobody was. */
function firstOf(map: Map<string, Trigger>, key: string, newcomer: Trigger): Trigger {
  const first = map.get(key) ?? newcomer;
  map.set(key, first);
  return first;
}

function isAmbiguous(a: Trigger, b: Trigger): boolean {
  return triggerTypes[a.type].isAmbiguous?.(a, b) ?? false;
}

/** Where a webhook is; undefined for a trigger without one. */
function placeOf({ type, config }: Trigger): string | undefined {
  const { webhook } = triggerTypes[type];
  const path = 'path' in config ? config.path : undefined;
  if (webhook === undefined || path === undefined || webhook.isUsed?.(config) === false) return undefined;
  const { host, port } = webhook.address?.(config) ?? { host: '', port: 0 };
  return port === 0 ? path : `${host}:${port}${path}`;
}
