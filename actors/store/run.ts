// The journal that a delivery may have: what its handler has done, as rows that are only added to, and what lists show of it. A
// delivery with a journal is called a run. What stands in a row its handler knows.

import type { Delivery, DeliveryState } from './delivery.ts';

/** One row of a journal. */
export interface Step {
  /** Counted from 1. */
  readonly n: number;
  /** When it became durable, epoch ms. */
  readonly at: number;
  /** JSON text. */
  readonly text: string;
}

export const runKinds = ['agent', 'command', 'fleet', 'flow'] as const;

/** What lists show of a run: the newest counts. */
export interface RunNote {
  readonly kind: (typeof runKinds)[number];
  /** Of the agent, the command, the fleet or the flow. */
  readonly name: string;
  /** JSON text, small. */
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
  /** Older than this one: where the page before says to go on. */
  readonly beforeSeq?: number;
  /** At most 1,000. */
  readonly limit: number;
}

export interface RunPage {
  /** The newest first. */
  readonly runs: readonly Run[];
  /** Where to go on, as the `beforeSeq` of the next one; undefined at the end. */
  readonly beforeSeq: number | undefined;
}

interface StepReader {
  /** Returns the rows after the first `after`, page by page; an empty page at the end. */
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
