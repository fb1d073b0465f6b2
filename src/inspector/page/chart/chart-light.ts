// What of a chart is lit: the boxes of the states that are active, and the arrow of the last step. The feed tells of a
// step by its event and the states around it, not by the transition; the chart knows which arrow fits both.

import type { StateValue } from '../../wire/feed-wire.ts';
import type { LastStep } from '../feed/store.ts';
import { activePaths } from '../state-words.ts';
import type { Chart } from './chart-layout.ts';

export interface Light {
  readonly active: ReadonlySet<string>;
  /** Indexes into the chart's arrows. */
  readonly arrows: ReadonlySet<number>;
  /** The event that led here, as the labels have it. */
  readonly event: string | null;
}

export function lightOf(chart: Chart, state: StateValue, last: LastStep | null): Light {
  const active = new Set(activePaths(state));
  if (last === null) return { active, arrows: new Set(), event: null };
  const from = new Set(activePaths(last.from));
  const to = new Set(activePaths(last.to));
  const fitting = chart.arrows.flatMap(({ source, target, labels }, index) => {
    const isTaken = from.has(source) && to.has(target) && labels.some(({ event }) => fits(event, last.event));
    return isTaken ? [index] : [];
  });
  return { active, arrows: new Set(fitting), event: last.event };
}

/** Whether a transition for `descriptor`, which may end in a wildcard, takes this event. */
export function fits(descriptor: string, event: string): boolean {
  if (descriptor === event) return true;
  return descriptor.endsWith('*') && event.startsWith(descriptor.slice(0, -1));
}
