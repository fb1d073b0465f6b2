// Where people can be asked for approval, and by whom: the triggers that are enabled, and those that agents, fleets and flows have by themselves.

import type { ApprovalPlaces } from '../agents/approvals/approvals.ts';
import type { Adapters } from '../platforms/adapters.ts';
import type { TargetRegistry } from './target-registry.ts';
import type { TriggerRegistry } from './triggers/trigger-registry.ts';

export function approvalPlaces(
  adapters: Pick<Adapters, 'ofPlatform'>,
  triggers: Pick<TriggerRegistry, 'all' | 'get'>,
  targets: Pick<TargetRegistry, 'trigger'>,
): ApprovalPlaces {
  return {
    adapterOf: (platform) => adapters.ofPlatform(platform),
    trigger: (name) => {
      const trigger = triggers.get(name) ?? targets.trigger(name);
      return trigger?.enabled === true ? trigger : undefined;
    },
    triggers: () => triggers.all().filter(({ enabled }) => enabled),
  };
}
