// Schemas for durations. Node timers are limited to 2^31 - 1 milliseconds and fire immediately beyond that,
// so the maximum is 2,147,483 seconds (24 days).

import * as Type from 'typebox';

export const maxTimerSeconds = 2_147_483;

/** Seconds above zero; fractions are allowed. */
export function seconds(description: string, byDefault: number) {
  return Type.Number({ description, default: byDefault, exclusiveMinimum: 0, maximum: maxTimerSeconds });
}

/** Seconds, with zero; the description defines the meaning of zero. */
export function secondsOrZero(description: string, byDefault: number) {
  return Type.Number({ description, default: byDefault, minimum: 0, maximum: maxTimerSeconds });
}
