// What each agent, fleet and flow has done since the start, for the statistics; of a fleet and a flow all that was done within it. As
// many entries as were asked: names of files, a bounded few.

import { type Target, targetText } from '../../../config/resources/triggers/target.ts';
import { rowOf } from './shown-step.ts';

export interface AgentCounts {
  /** That were answered. */
  readonly runs: number;
  /** Attempts that failed; those that were cancelled, or ended by a stop, did not. */
  readonly failed: number;
  /** Attempts under way. */
  readonly running: number;
  readonly iterations: number;
  readonly toolCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In the unit of `prices`, of answers whose price is known. */
  readonly cost: number;
}

type Kept = { -readonly [name in keyof AgentCounts]: AgentCounts[name] };

const NONE: AgentCounts = {
  ...{ runs: 0, failed: 0, running: 0 },
  ...{ iterations: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0, cost: 0 },
};

/** What is read of rows; the others say nothing that is counted. */
const COUNTED = /^\{(?:"in":"[^"]*",)?"kind":"(?:answer|called)"/;

export class AgentCounters {
  readonly #counts = new Map<string, Kept>();
  /** Grows with each change. */
  revision = 0;
  readonly #withOthers: (whom: string, own: AgentCounts) => AgentCounts;

  /** `withOthers` adds the counts of remote nodes. */
  constructor(withOthers: (whom: string, own: AgentCounts) => AgentCounts = (_, own) => own) {
    this.#withOthers = withOthers;
  }

  /** Of one attempt; `end` is to be called once. */
  begin(target: Target) {
    const counts = this.#kept(targetText(target));
    const changing = (change: () => void) => {
      this.revision += 1;
      change();
    };
    changing(() => {
      counts.running += 1;
    });
    return {
      rows: (rows: readonly string[]) => changing(() => countRows(counts, rows)),
      replied: () =>
        changing(() => {
          counts.runs += 1;
        }),
      failed: () =>
        changing(() => {
          counts.failed += 1;
        }),
      end: () =>
        changing(() => {
          counts.running -= 1;
        }),
    };
  }

  of(target: Target): AgentCounts {
    const whom = targetText(target);
    return this.#withOthers(whom, this.#counts.get(whom) ?? NONE);
  }

  /** Of this process alone, by `agent reviewer`. */
  get own(): ReadonlyMap<string, AgentCounts> {
    return this.#counts;
  }

  #kept(whom: string): Kept {
    let counts = this.#counts.get(whom);
    if (counts === undefined) {
      counts = { ...NONE };
      this.#counts.set(whom, counts);
    }
    return counts;
  }
}

function countRows(counts: Kept, rows: readonly string[]): void {
  for (const text of rows) {
    const row = COUNTED.test(text) ? rowOf({ text }) : undefined;
    if (row?.kind === 'called') counts.toolCalls += 1;
    if (row?.kind !== 'answer') continue;
    const { input = 0, output = 0 } = row.usage;
    counts.iterations += 1;
    counts.inputTokens += input;
    counts.outputTokens += output;
    counts.cost += row.cost ?? 0;
  }
}
