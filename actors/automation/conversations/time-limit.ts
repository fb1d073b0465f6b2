// The time limit of one attempt of a handler: the trigger's, and for runs by hand that of their own field. A fleet and a flow work for
// as long as they say themselves: an attempt that ends in between would leave calls in doubt.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';

export interface TimeLimit {
  readonly seconds: number;
  /** The field it stands in, for whoever wants to change it. */
  readonly field: string;
}

export function timeLimit(trigger: Trigger): TimeLimit {
  const byHand = triggerTypes[trigger.type].byHand?.timeLimit(trigger.config);
  return byHand ?? { seconds: trigger.timeout_seconds, field: 'timeout_seconds' };
}

/** `ownSeconds` is what an attempt of the target takes by itself at most, as far as that is known. */
export function attemptLimit(trigger: Trigger, { kind }: Target, ownSeconds: number | undefined): TimeLimit {
  const limit = timeLimit(trigger);
  if (kind === 'agent' || ownSeconds === undefined || ownSeconds <= limit.seconds) return limit;
  return { seconds: ownSeconds, field: `timeout_seconds of the ${kind}` };
}
