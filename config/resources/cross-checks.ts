// Checks resources (triggers, agents, fleets, flows) against each other: duplicate names, unknown names,
// paths shared by triggers of different types, and triggers that accept the same events.

import { checkFleet } from './fleets/fleet-checks.ts';
import { checkFlow } from './flows/flow-checks.ts';
import { KnownTargets } from './known-targets.ts';
import type { ReadResource } from './resource-context.ts';
import { agentTarget, isSameTarget } from './triggers/target.ts';
import type { Trigger } from './triggers/trigger.ts';
import type { TriggerWithReader } from './triggers/trigger-type.ts';
import { triggerTypes } from './triggers/trigger-types.ts';

export interface CrossCheckContext {
  /** Default agent in the gateway file (gateway.yaml), for triggers that name none. */
  readonly defaultAgent: string | undefined;
  /** True if referenced resources may be in files that were not loaded. */
  readonly isPartial: boolean;
  /** Ids of the catalog's servers; undefined if unknown. */
  readonly servers: readonly string[] | undefined;
}

/** Adds problems to the readers of the resources, which know the positions of the fields. */
export function crossCheck(resources: readonly ReadResource[], context: CrossCheckContext): void {
  checkNames(resources);
  checkTargets(resources, context);
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
      reader.report('metadata.name', `duplicate ${kind} ${name}, already defined in ${file}:${line}`);
    }
  }
}

function checkTargets(
  resources: readonly ReadResource[],
  { defaultAgent, isPartial, servers }: CrossCheckContext,
): void {
  const knownTargets = new KnownTargets(resources, isPartial);
  for (const { reader, references = [], fleet, flow } of resources) {
    for (const { target, path } of references) knownTargets.check(reader, path, target);
    if (fleet !== undefined) checkFleet(reader, fleet, knownTargets.agents, knownTargets.severityOf('agent'));
    if (flow !== undefined)
      checkFlow(
        reader,
        flow,
        { agents: knownTargets.agents, fleets: knownTargets.namesOf('fleet'), servers },
        knownTargets.severityOf('agent'),
      );
  }
  if (defaultAgent === undefined) return;
  const target = agentTarget(defaultAgent);
  // If the default agent does not exist, one report is sufficient for all triggers that use it.
  const firstTrigger = resources.find(({ trigger }) => isSameTarget(trigger?.default_target, target));
  const fault = knownTargets.faultOf(target);
  // A trigger that names the agent itself was reported already: its `references` were checked above.
  if (fault === undefined || firstTrigger === undefined || firstTrigger.reader.has('spec.default_agent'))
    return;
  firstTrigger.reader.report(
    'spec',
    `${fault}, the default_agent of the gateway file`,
    knownTargets.severityOf('agent'),
  );
}

/** Runs each type's checks across all triggers of the type. */
function checkTypes(resources: readonly ReadResource[]): void {
  const ofType = new Map<Trigger['type'], TriggerWithReader<object>[]>();
  for (const { reader, trigger } of resources) {
    // A config with unset variables has unknown values, which cannot be compared.
    if (trigger === undefined || reader.isUnset('spec.config')) continue;
    const all = ofType.get(trigger.type) ?? [];
    ofType.set(trigger.type, all);
    all.push({ reader, trigger });
  }
  for (const [type, all] of ofType) triggerTypes[type].checkAll?.(all);
}

/** Reports triggers that share a webhook path, if their types differ or they accept the same events. */
function checkPaths(resources: readonly ReadResource[]): void {
  const ownerOf = new Map<string, Trigger>();
  const earlierAt = new Map<string, Trigger[]>();
  for (const { reader, trigger } of resources) {
    const location = trigger?.enabled === true ? webhookLocation(trigger) : undefined;
    if (trigger === undefined || location === undefined) continue;
    const owner = firstOf(ownerOf, location, trigger);
    if (owner.type !== trigger.type) {
      const path = reader.has('spec.config.path') ? 'spec.config.path' : 'spec.config';
      reader.report(path, `trigger ${owner.name} of type ${owner.type} already has this path`);
      continue;
    }
    const earlier = earlierAt.get(location) ?? [];
    // Two triggers with the same name were reported by checkNames.
    const twin = earlier.find((other) => other.name !== trigger.name && isAmbiguous(other, trigger));
    earlierAt.set(location, earlier);
    earlier.push(trigger);
    if (twin === undefined) continue;
    const [winner] = [trigger.name, twin.name].sort();
    const message = `trigger ${twin.name} accepts the same events; ${winner} receives them, by order of names`;
    reader.report('metadata.name', message, 'warning');
  }
}

/** Returns the trigger of the key. Without one, adds the newcomer and returns it. */
function firstOf(map: Map<string, Trigger>, key: string, newcomer: Trigger): Trigger {
  const first = map.get(key) ?? newcomer;
  map.set(key, first);
  return first;
}

function isAmbiguous(a: Trigger, b: Trigger): boolean {
  return triggerTypes[a.type].isAmbiguous?.(a, b) ?? false;
}

/** Returns the webhook's path, with host and port for a separate listener; undefined without a webhook. */
function webhookLocation({ type, config }: Trigger): string | undefined {
  const { webhook } = triggerTypes[type];
  const path = 'path' in config ? config.path : undefined;
  if (webhook === undefined || path === undefined || webhook.isUsed?.(config) === false) return undefined;
  // Without an address, the trigger uses the gateway's listener, represented by port 0.
  const { host, port } = webhook.address?.(config) ?? { host: '', port: 0 };
  return port === 0 ? path : `${host}:${port}${path}`;
}
