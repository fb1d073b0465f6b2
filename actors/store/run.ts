// Runs: deliveries with a journal, which the handler writes, an append-only list of steps. Only the handler
// knows the format of the steps.

import type { Delivery, DeliveryState } from './delivery.ts';

/** Journal row. */
export interface Step {
  /** Row number, from 1. */
  readonly n: number;
  /** Time of the commit, epoch milliseconds. */
  readonly at: number;
  /** JSON text. */
  readonly text: string;
}

export const runKinds = ['agent', 'command', 'fleet', 'flow'] as const;

/** Run summary for lists; a later summary replaces it. */
export interface RunNote {
  readonly kind: (typeof runKinds)[number];
  /** Name of the agent, command, fleet or flow. */
  readonly name: string;
  /** Short JSON text. */
  readonly figures: string;
}

export interface Run extends RunNote {
  readonly delivery: Delivery;
  readonly steps: number;
}

export interface RunFilter {
  readonly states?: readonly DeliveryState[];
  readonly kind?: RunNote['kind'];
  readonly name?: string;
  /** `beforeSeq` of the previous page; returns older runs. */
  readonly beforeSeq?: number;
  /** At most 1,000. */
  readonly limit: number;
}

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly Run[];
  /** `beforeSeq` of the next page; undefined on the last page. */
  readonly beforeSeq: number | undefined;
}

interface StepReader {
  /** Returns the rows with a number above `after`, page by page; the last page is empty. */
  steps(id: string, after: number): Promise<readonly Step[]>;
}

/** Returns the first `count` rows of a journal. Rejects as the store does. */
export async function stepsOf(
  store: StepReader,
  id: string,
  count = Number.POSITIVE_INFINITY,
): Promise<readonly string[]> {
  const texts: string[] = [];
  while (texts.length < count) {
    const page = await store.steps(id, texts.length);
    if (page.length === 0) break;
    texts.push(...page.map(({ text }) => text));
  }
  return texts.slice(0, count);
}
