// Durations as an operator writes them. They end up in Node timers, which hold at most 2^31 - 1 milliseconds:
// beyond that a timer fires at once, so 2,147,483 seconds (24 days) is the most that any field takes.

import * as Type from 'typebox';

export const maxTimerSeconds = 2_147_483;

/** Seconds, fractions allowed, above zero. */
export function seconds(description: string, byDefault: number) {
  return Type.Number({ description, default: byDefault, exclusiveMinimum: 0, maximum: maxTimerSeconds });
}

/** Seconds, where zero has the meaning that the description gives. */
export function secondsOrZero(description: string, byDefault: number) {
  return Type.Number({ description, default: byDefault, minimum: 0, maximum: maxTimerSeconds });
}
