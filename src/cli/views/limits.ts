// Usage of the shared limits, for `stats` and `top`: only limits that are used to a notable part.

import type { Stats } from '../../http/api/stats-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';

/** Part of a limit from which it is shown: a single holder can have at most half. */
const NOTABLE_PART = 1 / 3;
/** Part from which most holders have no capacity left. */
const NEARLY_ALL = 0.9;

/** Returns entries such as `deliveries.max_waiting`, `48000 of 100000: http:orders 40000, http:ci 8000`. */
export function limitEntries(
  { limits = {} }: Partial<Stats>,
  paint: Paint,
): readonly (readonly [string, string])[] {
  return Object.entries(limits)
    .filter(([, { used, max }]) => used > 0 && used >= max * NOTABLE_PART)
    .map(([name, { used, max, holders }]) => {
      const names = holders.map((holder) => `${printable(holder.name)} ${holder.used}`).join(', ');
      const text = `${used} of ${max}${names === '' ? '' : `: ${names}`}`;
      return [name, used >= max * NEARLY_ALL ? paint('bad', text) : paint('busy', text)] as const;
    });
}
