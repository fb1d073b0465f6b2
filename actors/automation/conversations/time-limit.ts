// The time limit of one attempt of a handler: the trigger's, and for runs by hand that of their own field.

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
