// The orders in which `top` can show servers. Whatever the order, those that have failed come first.

import type { ServerState } from '../../../machines/server.ts';
import type { ServerStats } from '../../http/api/server-shapes.ts';
import type { Trouble } from './top-sample.ts';

export interface TopRow extends ServerStats {
  readonly id: string;
  /** Requests per second; undefined at the first look. */
  readonly rate: number | undefined;
  /** Set while it has failed. */
  readonly trouble: Trouble | undefined;
}

export type Order = 'activity' | 'id' | 'requests' | 'failed' | 'restarts' | 'latency';

type Compare = (a: TopRow, b: TopRow) => number;

const liveliness: Readonly<Record<ServerState, number>> = {
  failed: 5,
  starting: 4,
  stopping: 3,
  running: 2,
  idle: 1,
  stopped: 0,
};

const byId: Compare = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** The largest first. */
const falling =
  (of: (row: TopRow) => number): Compare =>
  (a, b) =>
    of(b) - of(a);

/** By the first comparison that tells two rows apart; failed servers before that, ids after it. */
const inTurn = (...compares: readonly Compare[]): Compare => {
  const all = [falling(({ state }) => (state === 'failed' ? 1 : 0)), ...compares, byId];
  return (a, b) => {
    for (const compare of all) {
      const sign = compare(a, b);
      if (sign !== 0) return sign;
    }
    return 0;
  };
};

export const orders: Readonly<Record<Order, Compare>> = {
  activity: inTurn(
    falling(({ rate = 0 }) => rate),
    falling(({ in_flight, waiting }) => in_flight + waiting),
    falling(({ state }) => liveliness[state]),
    falling(({ requests }) => requests),
  ),
  id: inTurn(),
  requests: inTurn(falling(({ requests }) => requests)),
  failed: inTurn(falling(({ failed }) => failed)),
  restarts: inTurn(falling(({ restarts }) => restarts)),
  latency: inTurn(falling(({ latency_ms }) => latency_ms.p95 ?? -1)),
};

export const orderNames = Object.keys(orders) as readonly Order[];

/** The order that follows, the first again after the last. */
export function orderAfter(order: Order): Order {
  return orderNames[(orderNames.indexOf(order) + 1) % orderNames.length] ?? 'activity';
}
