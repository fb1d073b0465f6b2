// Who decides about what an agent has to ask. Whoever has the API key of the gateway always may, at the terminal and by HTTP: so
// nothing that is asked is without anybody, and where there is nobody else that is a warning. (A command that needs an approval
// names somebody itself: BA1.)

import { approversOf } from './approval-rules.ts';
import type { ReadResource } from './resource-context.ts';

/** Reports to the readers of the agents. */
export function checkApprovers(resources: readonly ReadResource[]): void {
  for (const { reader, agent } of resources) {
    if (agent?.runtime.kind !== 'model') continue;
    const { policy, interrupted_calls } = agent.runtime;
    const path = policy.ask.length > 0 ? 'spec.policy.ask' : 'spec.interrupted_calls';
    if (policy.ask.length === 0 && interrupted_calls !== 'ask') continue;
    if (policy.approvers.length > 0 || policy.approval_channel !== undefined) continue;
    const without = resources.find(
      (each) => leadsTo(each, agent.name) && approversOf(each.trigger?.config).length === 0,
    );
    if (without?.trigger === undefined) continue;
    reader.report(
      path,
      `of what comes from trigger ${without.trigger.name} only whoever has the API key may decide, and nobody is told: name approvers or an approval_channel under policy`,
      'warning',
    );
  }
}

function leadsTo({ trigger, references = [] }: ReadResource, agent: string): boolean {
  if (trigger === undefined) return false;
  const targets = [...references.map(({ target }) => target), trigger.default_target];
  return targets.some((target) => target?.kind === 'agent' && target.name === agent);
}
