// Sort orders for the servers in `top`. Failed servers always come first.

import type { ServerState } from '../../../machines/server.ts';
import type { ServerStats } from '../../http/api/server-shapes.ts';
import type { ServerFailure } from './sample.ts';

export interface TopRow extends ServerStats {
  readonly id: string;
  /** Requests per second; undefined in the first sample. */
  readonly rate: number | undefined;
  /** Set if the state of the server is `failed`. */
  readonly trouble: ServerFailure | undefined;
}

export type Order = 'activity' | 'id' | 'requests' | 'failed' | 'restarts' | 'latency';

type Compare = (a: TopRow, b: TopRow) => number;

/** Rank of the states in the order `activity`. */
const liveliness: Readonly<Record<ServerState, number>> = {
  failed: 5,
  starting: 4,
  stopping: 3,
  running: 2,
  idle: 1,
  stopped: 0,
};

const byId: Compare = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** Returns a comparison by a number, in descending order. */
const descending =
  (of: (row: TopRow) => number): Compare =>
  (a, b) =>
    of(b) - of(a);

/** Combines comparisons. Puts failed servers first; equal servers are ordered by id. */
const comparingBy = (...compares: readonly Compare[]): Compare => {
  const all = [descending(({ state }) => (state === 'failed' ? 1 : 0)), ...compares, byId];
  return (a, b) => {
    for (const compare of all) {
      const sign = compare(a, b);
      if (sign !== 0) return sign;
    }
    return 0;
  };
};

export const orders: Readonly<Record<Order, Compare>> = {
  activity: comparingBy(
    descending(({ rate = 0 }) => rate),
    descending(({ in_flight, waiting }) => in_flight + waiting),
    descending(({ state }) => liveliness[state]),
    descending(({ requests }) => requests),
  ),
  id: comparingBy(),
  requests: comparingBy(descending(({ requests }) => requests)),
  failed: comparingBy(descending(({ failed }) => failed)),
  restarts: comparingBy(descending(({ restarts }) => restarts)),
  latency: comparingBy(descending(({ latency_ms }) => latency_ms.p95 ?? -1)),
};

export const orderNames = Object.keys(orders) as readonly Order[];

/** Returns the order after this one; after the last, the first. */
export function orderAfter(order: Order): Order {
  return orderNames[(orderNames.indexOf(order) + 1) % orderNames.length] ?? 'activity';
}
