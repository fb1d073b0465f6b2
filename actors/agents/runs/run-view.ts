// Run view for the API: its delivery, and usage figures from its journal.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { RunFigures } from '../../../machines/agent-run/journal.ts';
import type { Delivery } from '../../store/delivery.ts';
import type { Run } from '../../store/run.ts';
import { type RunState, runStateOf } from './state.ts';

export interface RunView {
  readonly delivery: Delivery;
  readonly kind: Run['kind'];
  readonly name: string;
  readonly state: RunState;
  /** Undefined if no journal exists. */
  readonly figures: RunFigures | undefined;
  readonly stepCount: number;
}

/** A run with its answer: the complete one, or the recorded beginning if the answer is long. */
export interface RunAnswer extends RunView {
  readonly answer: string | undefined;
  readonly data: unknown;
}

export function runView({ delivery, kind, name, figures, steps }: Run): RunView {
  const state = runStateOf(delivery.state);
  return { delivery, kind, name, state, figures: figuresIn(figures), stepCount: steps };
}

/** Returns the view for a run that has no journal. */
export function viewWithoutJournal(delivery: Delivery, { kind, name }: Target): RunView {
  const state = runStateOf(delivery.state);
  return { delivery, kind, name, state, figures: undefined, stepCount: 0 };
}

function figuresIn(text: string): RunFigures | undefined {
  try {
    return JSON.parse(text) as RunFigures;
  } catch {
    return undefined;
  }
}
