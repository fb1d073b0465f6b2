// Has the counters of this process tell what all nodes have counted together.

import type { AgentCounters } from '../../agents/runs/agent-counters.ts';
import type { TriggerCounters } from '../triggers/trigger-counters.ts';
import { ClusterTallies, type ClusterTalliesOptions } from './cluster-tallies.ts';
import { sumOfTarget, sumOfTrigger } from './tallies.ts';

export interface SharedTalliesOptions
  extends Pick<ClusterTalliesOptions, 'membership' | 'store' | 'instance' | 'redact'> {
  readonly triggers: TriggerCounters;
  readonly targets: AgentCounters;
}

export function shareTallies({ triggers, targets, ...options }: SharedTalliesOptions): ClusterTallies {
  const tallies = new ClusterTallies({
    ...options,
    own: () => ({ triggers: triggers.own, targets: targets.own }),
    revision: () => triggers.revision + targets.revision,
  });
  triggers.withOthers = (name, own) => sumOfTrigger(tallies.others.triggers.get(name), own);
  targets.withOthers = (whom, own) => sumOfTarget(tallies.others.targets.get(whom), own);
  return tallies;
}
