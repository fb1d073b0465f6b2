// Counters of each agent, fleet and flow since the start of the process, for statistics. Fleets and flows
// include the parts' work. There is one entry per target that has run, so the map is bounded by the
// number of files.

import { type Target, targetText } from '../../../config/resources/triggers/target.ts';
import { rowOf } from './step-view.ts';

export interface AgentCounts {
  /** Answered runs. */
  readonly runs: number;
  /** Failed attempts, without cancelled and stopped attempts. */
  readonly failed: number;
  /** Attempts in progress. */
  readonly running: number;
  readonly iterations: number;
  readonly toolCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Cost in the unit of `prices`, of answers with a known price. */
  readonly cost: number;
}

type MutableCounts = { -readonly [name in keyof AgentCounts]: AgentCounts[name] };

const ZERO: AgentCounts = {
  runs: 0,
  failed: 0,
  running: 0,
  iterations: 0,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0,
};

/** Rows that are counted; only these are parsed. */
const COUNTED_ROW = /^\{(?:"in":"[^"]*",)?"kind":"(?:answer|called)"/;

export class AgentCounters {
  readonly #counts = new Map<string, MutableCounts>();
  /** Increases with each change. */
  revision = 0;
  readonly #addRemote: (targetName: string, own: AgentCounts) => AgentCounts;

  /** `addRemote` adds the counts of the other nodes. */
  constructor(addRemote: (targetName: string, own: AgentCounts) => AgentCounts = (_, own) => own) {
    this.#addRemote = addRemote;
  }

  /** Counts one attempt. `end` must be called once. */
  begin(target: Target) {
    const counts = this.#countsOf(targetText(target));
    const update = (change: () => void) => {
      this.revision += 1;
      change();
    };
    update(() => {
      counts.running += 1;
    });
    return {
      addRows: (rows: readonly string[]) => update(() => countRows(counts, rows)),
      addReply: () =>
        update(() => {
          counts.runs += 1;
        }),
      addFailure: () =>
        update(() => {
          counts.failed += 1;
        }),
      end: () =>
        update(() => {
          counts.running -= 1;
        }),
    };
  }

  of(target: Target): AgentCounts {
    const targetName = targetText(target);
    return this.#addRemote(targetName, this.#counts.get(targetName) ?? ZERO);
  }

  /** Counts of this process alone, by target text such as `agent reviewer`. */
  get own(): ReadonlyMap<string, AgentCounts> {
    return this.#counts;
  }

  #countsOf(targetName: string): MutableCounts {
    let counts = this.#counts.get(targetName);
    if (counts === undefined) {
      counts = { ...ZERO };
      this.#counts.set(targetName, counts);
    }
    return counts;
  }
}

function countRows(counts: MutableCounts, rows: readonly string[]): void {
  for (const text of rows) {
    const row = COUNTED_ROW.test(text) ? rowOf({ text }) : undefined;
    if (row?.kind === 'called') counts.toolCalls += 1;
    if (row?.kind !== 'answer') continue;
    const { input = 0, output = 0 } = row.usage;
    counts.iterations += 1;
    counts.inputTokens += input;
    counts.outputTokens += output;
    counts.cost += row.cost ?? 0;
  }
}
