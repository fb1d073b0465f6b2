// Which records a page of a list looks at: the newest of those that it may be about, and so many at most. Where an index knows all the
// states that are asked for only its records are looked at; SQLite would not choose it by itself.
//
// SQN1  what waits, runs or has died is looked for among its like alone, however much there is of what has ended otherwise.

import type { DeliveryState } from '../delivery.ts';
import { firstSettled, stateCodes } from '../delivery-states.ts';
import { LOOKED_AT } from '../list-parts.ts';
import type { SqlValue } from './connection.ts';

/** A query for records with a `seq`, the newest first. */
export interface Newest {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** Each of `sources` is a table with its condition, whose values are `values`. */
export function newestOf(
  columns: string,
  sources: readonly string[],
  beforeSeq = Number.MAX_SAFE_INTEGER,
  values: readonly SqlValue[] = [],
): Newest {
  const parts = sources.map((source) => `SELECT ${columns} FROM ${source} AND seq < ?`);
  return {
    sql: `${parts.join(' UNION ALL ')} ORDER BY seq DESC LIMIT ${LOOKED_AT}`,
    values: sources.flatMap(() => [...values, beforeSeq]),
  };
}

/** Undefined where no index knows one of the states, or none is asked for. */
export function indexedBy(states: readonly DeliveryState[]): readonly string[] | undefined {
  const sources = states.map((state) => indexed[state]);
  const known = sources.filter((source) => source !== undefined);
  return known.length === 0 || known.length < sources.length ? undefined : [...new Set(known)];
}

const unfinished = `delivery INDEXED BY delivery_unfinished WHERE state < ${firstSettled}`;

const indexed: Readonly<Record<DeliveryState, string | undefined>> = {
  queued: unfinished,
  running: unfinished,
  retrying: unfinished,
  held: unfinished,
  dead: `delivery INDEXED BY delivery_dead WHERE state = ${stateCodes.dead}`,
  waiting: 'delivery INDEXED BY delivery_waiting WHERE waits_for IS NOT NULL',
  done: undefined,
  ignored: undefined,
};
