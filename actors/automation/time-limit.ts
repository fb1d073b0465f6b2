// The time limit of one attempt of a handler: the trigger's, and for runs by hand that of their own field.

import type { Trigger } from '../../config/resources/trigger.ts';

export interface TimeLimit {
  readonly seconds: number;
  /** The field it stands in, for whoever wants to change it. */
  readonly field: string;
}

export function timeLimit(trigger: Trigger): TimeLimit {
  const byHand = trigger.type === 'Manual' ? trigger.config.timeout : undefined;
  return byHand === undefined
    ? { seconds: trigger.timeout_seconds, field: 'timeout_seconds' }
    : { seconds: byHand, field: 'timeout' };
}
