// Warns of approvals (questions to people) of agents and flows that no approver can decide: only the operator
// could decide, with the API key. Commands are checked in triggers/binding-approval.ts.

import { joinPath } from '../reader/field-path.ts';
import { type ApprovalRules, approversOf } from './approval-rules.ts';
import type { Flow, FlowBody } from './flows/flow.ts';
import { targetsOfFleet, targetsOfFlow } from './named-targets.ts';
import type { ReadResource } from './resource-context.ts';
import { isSameTarget, type Target } from './triggers/target.ts';

/** Adds warnings to the readers of the agents and flows, which collect the problems of their files. */
export function checkApprovers(resources: readonly ReadResource[]): void {
  for (const { reader, agent, flow } of resources) {
    const target =
      agent === undefined ? flow && flowTarget(flow) : ({ kind: 'agent', name: agent.name } as const);
    const paths = [
      ...(agent === undefined ? [] : approvalPathsOfAgent(agent)),
      ...(flow === undefined ? [] : approvalPathsIn(flow, 'spec')),
    ];
    if (target === undefined || paths.length === 0) continue;
    // One trigger without approvers is sufficient: its events would wait for the operator.
    const source = resources.find(
      (each) => leadsTo(each, target, resources) && approversOf(each.trigger?.config).length === 0,
    );
    if (source?.trigger === undefined) continue;
    const fieldHint = agent === undefined ? '' : ' under policy';
    for (const path of paths)
      reader.report(
        path,
        `events of trigger ${source.trigger.name} have no approver: only clients with the API key can decide, and no notification is sent; set approvers or an approval_channel${fieldHint}`,
        'warning',
      );
  }
}

const flowTarget = ({ name }: Flow): Target => ({ kind: 'flow', name });

const lacksApprover = ({
  approvers,
  approval_channel,
}: Pick<ApprovalRules, 'approvers' | 'approval_channel'>) =>
  approvers.length === 0 && approval_channel === undefined;

/** Returns the path of the field that requires the approvals, if no approver is set. */
function approvalPathsOfAgent({ runtime }: NonNullable<ReadResource['agent']>): readonly string[] {
  if (runtime.kind !== 'model' || !lacksApprover(runtime.policy)) return [];
  if (runtime.policy.ask.length > 0) return ['spec.policy.ask'];
  return runtime.interrupted_calls === 'ask' ? ['spec.interrupted_calls'] : [];
}

/** Returns the paths of `Approval` nodes without approvers, including nodes in loops. */
function approvalPathsIn({ nodes }: FlowBody, path: string): readonly string[] {
  return nodes.flatMap(({ work }, index) => {
    const configPath = joinPath(joinPath(joinPath(path, 'nodes'), index), 'config');
    if (work.type === 'Loop') return approvalPathsIn(work.body, configPath);
    return work.type === 'Approval' && lacksApprover(work.rules) ? [configPath] : [];
  });
}

/** Returns true if events of the trigger can reach the target, directly or through a fleet or flow. */
export function leadsTo(
  { trigger, references = [] }: ReadResource,
  wanted: Target,
  all: readonly ReadResource[],
): boolean {
  if (trigger === undefined) return false;
  const targets = [...references.map(({ target }) => target), trigger.default_target];
  return targets.some((target) => target !== undefined && reaches(target, wanted, all));
}

/** Searches fleets and flows. The search ends, because no fleet or flow contains a flow. */
function reaches(target: Target, wanted: Target, all: readonly ReadResource[]): boolean {
  if (isSameTarget(target, wanted)) return true;
  // Kinds in files are capitalised, such as `Flow`; kinds of targets are not.
  const { fleet, flow } =
    all.find(({ kind, name }) => kind?.toLowerCase() === target.kind && name === target.name) ?? {};
  const inner = [
    ...(fleet === undefined ? [] : targetsOfFleet(fleet)),
    ...(flow === undefined ? [] : targetsOfFlow(flow)),
  ];
  return inner.some((each) => reaches(each, wanted, all));
}
