// Which records a page of a list looks at: the newest of those that it may be about, and so many at most. Where an index knows all the
// states that are asked for, only its records are looked at.

import type { DeliveryState } from '../delivery.ts';
import { firstSettled, stateCodes } from '../delivery-states.ts';
import { LOOKED_AT } from '../list-parts.ts';

/** A query for records of a table with its condition, the newest first; `before` is an expression. */
export function newestOf(columns: string, source: string, before: string): string {
  return `SELECT ${columns} FROM ${source} AND seq < ${before} ORDER BY seq DESC LIMIT ${LOOKED_AT}`;
}

/** Undefined where no index knows one of the states, or none is asked for. */
export function sourceOf(states: readonly DeliveryState[]): string | undefined {
  if (states.length === 0) return undefined;
  const parts = states.map((state) => indexed[state]);
  if (parts.includes(undefined)) return undefined;
  return `delivery WHERE (${[...new Set(parts)].join(' OR ')})`;
}

const unfinished = `state < ${firstSettled}`;

const indexed: Readonly<Record<DeliveryState, string | undefined>> = {
  queued: unfinished,
  running: unfinished,
  retrying: unfinished,
  held: unfinished,
  dead: `state = ${stateCodes.dead}`,
  waiting: 'waits_for IS NOT NULL',
  done: undefined,
  ignored: undefined,
};
