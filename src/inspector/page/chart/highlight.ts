// Selects the highlighted parts of a chart: boxes of the active states, and the arrow of the last step. The
// feed reports event and states, but not the transition, so the matching arrow is searched.

import type { StateValue } from '../../wire/feed.ts';
import type { LastStep } from '../feed/page-state.ts';
import { activePaths } from '../state-text.ts';
import type { Chart } from './layout.ts';

export interface Highlight {
  readonly active: ReadonlySet<string>;
  /** Indexes of the chart's arrows. */
  readonly arrows: ReadonlySet<number>;
  /** Last event, as in the labels. */
  readonly event: string | null;
}

export function highlightOf(chart: Chart, state: StateValue, last: LastStep | null): Highlight {
  const active = new Set(activePaths(state));
  if (last === null) return { active, arrows: new Set(), event: null };
  const from = new Set(activePaths(last.from));
  const to = new Set(activePaths(last.to));
  const matching = chart.arrows.flatMap(({ source, target, labels }, index) => {
    const isMatch =
      from.has(source) && to.has(target) && labels.some(({ event }) => matchesEvent(event, last.event));
    return isMatch ? [index] : [];
  });
  return { active, arrows: new Set(matching), event: last.event };
}

/** Returns true if a transition for `descriptor`, which may end in a wildcard, handles the event. */
export function matchesEvent(descriptor: string, event: string): boolean {
  if (descriptor === event) return true;
  return descriptor.endsWith('*') && event.startsWith(descriptor.slice(0, -1));
}
