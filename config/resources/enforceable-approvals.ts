// Checks that approvals (questions to people whether a call may proceed) can be enforced.
//
// - Decisions need verified senders. A trigger that accepts unverified requests is an error if approvers
//   decide through it, because any program on this machine could send the decision.
// - If the gateway has no API key, a guard (an approval or a denial) requires the operator token from MCP
//   clients; a warning is logged at startup.

import { type ApprovalRules, approversOf } from './approval-rules.ts';
import { leadsTo } from './approver-checks.ts';
import { guardOf } from './call-guards.ts';
import type { FlowBody } from './flows/flow.ts';
import type { ReadResource } from './resource-context.ts';
import type { Target } from './triggers/target.ts';
import type { Trigger } from './triggers/trigger.ts';
import { platformOf, triggerTypes } from './triggers/trigger-types.ts';

const UNVERIFIED_FIELD = 'spec.config.insecure_allow_unverified';

/** Adds errors to the readers of triggers that accept unverified requests. */
export function checkEnforceable(resources: readonly ReadResource[]): void {
  for (const { trigger, reader, isUnverified } of resources) {
    if (trigger === undefined || isUnverified !== true) continue;
    const { proof, isChat } = triggerTypes[trigger.type];
    const remedy = `give the trigger ${proof?.setting ?? 'a proof of its senders'}`;
    const command = trigger.commands.find(({ approval }) => approval !== undefined);
    const decidedTarget = isChat === true ? decidedThrough(trigger, resources) : undefined;
    if (command !== undefined)
      reader.report(
        UNVERIFIED_FIELD,
        `approvals cannot be enforced: command ${command.command} requires approval, but any program on this machine could send it in the name of any user; ${remedy}`,
      );
    else if (decidedTarget !== undefined)
      reader.report(
        UNVERIFIED_FIELD,
        `approvals cannot be enforced: ${decidedTarget.kind} ${decidedTarget.name} requires approval, but any program on this machine could send the decision of an approver; ${remedy}`,
      );
  }
}

/** Warns of the first approval or denial. The caller has checked that the gateway has no API key. */
export function warnOfAnonymousClients(resources: readonly ReadResource[]): void {
  for (const each of resources) {
    const guard = guardOf(each);
    if (guard === undefined) continue;
    each.reader.report(
      guard.path,
      `api_key is not set, so approvals and policies (here ${guard.rule}) depend on the operator token: /mcp and /rpc refuse clients without it; set api_key to give clients a key`,
      'warning',
    );
    return;
  }
}

/** Returns an agent, fleet or flow whose approvers could decide through the platform of `trigger`. */
function decidedThrough(trigger: Trigger, resources: readonly ReadResource[]): Target | undefined {
  const ofPlatform = resources.filter((each) => each.trigger?.type === trigger.type);
  const hasOwnApprovers = ofPlatform.some((each) => approversOf(each.trigger?.config).length > 0);
  for (const each of resources) {
    const target = targetOf(each);
    if (target === undefined) continue;
    const rules = [each, ...(each.inline ?? [])].flatMap(rulesOf);
    if (rules.some(({ approval_channel }) => isOnPlatform(approval_channel, trigger))) return target;
    // Without approvers and channel, only the operator can decide (approver-checks.ts).
    const haveApprovers = rules.some(
      ({ approvers, approval_channel }) =>
        hasOwnApprovers || approvers.length > 0 || approval_channel !== undefined,
    );
    if (haveApprovers && ofPlatform.some((one) => leadsTo(one, target, resources))) return target;
  }
  return undefined;
}

function targetOf({ agent, fleet, flow }: ReadResource): Target | undefined {
  if (agent !== undefined) return { kind: 'agent', name: agent.name };
  if (fleet !== undefined) return { kind: 'fleet', name: fleet.name };
  return flow && { kind: 'flow', name: flow.name };
}

/** Returns true for a channel such as `chatworkspace/C024OPS`, if this is the trigger's platform. */
const isOnPlatform = (channel: string | undefined, { type }: Trigger) =>
  channel?.startsWith(`${platformOf(type)}/`) === true;

function rulesOf({ agent, flow }: ReadResource): readonly ApprovalRules[] {
  if (flow !== undefined) return rulesIn(flow);
  if (agent?.runtime.kind !== 'model') return [];
  const { policy, interrupted_calls } = agent.runtime;
  return policy.ask.length > 0 || interrupted_calls === 'ask' ? [policy] : [];
}

function rulesIn({ nodes }: FlowBody): readonly ApprovalRules[] {
  return nodes.flatMap(({ work }) => {
    if (work.type === 'Loop') return rulesIn(work.body);
    return work.type === 'Approval' ? [work.rules] : [];
  });
}
