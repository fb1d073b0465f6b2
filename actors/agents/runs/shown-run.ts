// A run as it is shown: its delivery, and what lists have of its journal.

import type { Target } from '../../../config/resources/triggers/target.ts';
import type { RunFigures } from '../../../machines/agent-run/journal.ts';
import type { Delivery } from '../../store/delivery.ts';
import type { Run } from '../../store/run.ts';
import { type RunState, runStateOf } from './run-state.ts';

export interface ShownRun {
  readonly delivery: Delivery;
  readonly kind: Run['kind'];
  readonly name: string;
  readonly state: RunState;
  /** Undefined without a journal. */
  readonly figures: RunFigures | undefined;
  readonly stepCount: number;
}

/** What a run has come to so far. */
export interface RunAnswer extends ShownRun {
  readonly answer: string | undefined;
  readonly data: unknown;
}

export function shownRun({ delivery, kind, name, figures, steps }: Run): ShownRun {
  const state = runStateOf(delivery.state);
  return { delivery, kind, name, state, figures: figuresIn(figures), stepCount: steps };
}

/** Of somebody who has kept no journal. */
export function withoutJournal(delivery: Delivery, { kind, name }: Target): ShownRun {
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
