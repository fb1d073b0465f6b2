// Checks the approvers of agents and flow steps. The gateway's operator may always decide, at the terminal and by
// HTTP: a rule with no further approver is a warning. (A command with required approval names its approvers itself: BA1.)

import { joinPath } from '../reader/field-path.ts';
import { type ApprovalRules, approversOf } from './approval-rules.ts';
import type { Flow, FlowBody } from './flows/flow.ts';
import { targetsOfFleet, targetsOfFlow } from './named-targets.ts';
import type { ReadResource } from './resource-context.ts';
import { isSameTarget, type Target } from './triggers/target.ts';

/** Reports to the readers of the agents and flows. */
export function checkApprovers(resources: readonly ReadResource[]): void {
  for (const { reader, agent, flow } of resources) {
    const target =
      agent === undefined ? flow && flowTarget(flow) : ({ kind: 'agent', name: agent.name } as const);
    const paths = [
      ...(agent === undefined ? [] : askedByAgent(agent)),
      ...(flow === undefined ? [] : askedIn(flow, 'spec')),
    ];
    if (target === undefined || paths.length === 0) continue;
    const without = resources.find(
      (each) => leadsTo(each, target, resources) && approversOf(each.trigger?.config).length === 0,
    );
    if (without?.trigger === undefined) continue;
    const under = agent === undefined ? '' : ' under policy';
    for (const path of paths)
      reader.report(
        path,
        `of what comes from trigger ${without.trigger.name} only whoever has the API key may decide, and nobody is told: name approvers or an approval_channel${under}`,
        'warning',
      );
  }
}

const flowTarget = ({ name }: Flow): Target => ({ kind: 'flow', name });

const namesNobody = ({
  approvers,
  approval_channel,
}: Pick<ApprovalRules, 'approvers' | 'approval_channel'>) =>
  approvers.length === 0 && approval_channel === undefined;

function askedByAgent({ runtime }: NonNullable<ReadResource['agent']>): readonly string[] {
  if (runtime.kind !== 'model' || !namesNobody(runtime.policy)) return [];
  if (runtime.policy.ask.length > 0) return ['spec.policy.ask'];
  return runtime.interrupted_calls === 'ask' ? ['spec.interrupted_calls'] : [];
}

function askedIn({ nodes }: FlowBody, path: string): readonly string[] {
  return nodes.flatMap(({ work }, index) => {
    const at = joinPath(joinPath(joinPath(path, 'nodes'), index), 'config');
    if (work.type === 'Loop') return askedIn(work.body, at);
    return work.type === 'Approval' && namesNobody(work.rules) ? [at] : [];
  });
}

/** A trigger that leads to it, itself or by a fleet or a flow. */
export function leadsTo(
  { trigger, references = [] }: ReadResource,
  wanted: Target,
  all: readonly ReadResource[],
): boolean {
  if (trigger === undefined) return false;
  const targets = [...references.map(({ target }) => target), trigger.default_target];
  return targets.some((target) => target !== undefined && reaches(target, wanted, all));
}

function reaches(target: Target, wanted: Target, all: readonly ReadResource[]): boolean {
  if (isSameTarget(target, wanted)) return true;
  const { fleet, flow } =
    all.find(({ kind, name }) => kind?.toLowerCase() === target.kind && name === target.name) ?? {};
  const inner = [
    ...(fleet === undefined ? [] : targetsOfFleet(fleet)),
    ...(flow === undefined ? [] : targetsOfFlow(flow)),
  ];
  return inner.some((each) => reaches(each, wanted, all));
}
