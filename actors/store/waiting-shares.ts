// Limit of waiting events (`maxWaiting`) and its shares, for all engines. A waiting event belongs to two
// holders: the trigger or account that accepted it, and its conversation. The rule is the same as for parked
// events (parked-shares.ts): one trigger alone gets half, one conversation alone a third. Emitted events,
// timers and requeued events bypass the limit, but are counted. They could leave no capacity for others, so
// each trigger or account always has a small guaranteed share.

import type { NewEvent } from './event.ts';
import { isControlKey } from './key-kinds.ts';

/** Numbers of waiting events: all, and by holder. */
export interface WaitingUsage {
  readonly total: number;
  readonly trigger: number;
  readonly conversation: number;
}

/** Guaranteed share of a trigger or account, as a part of the limit. */
const GUARANTEED_PART = 0.01;

/**
 * Beginnings of event ids that contain no trigger or account, or not up to the first slash, such as
 * `manual:8d3f`. The key of these events contains it.
 */
const sourcesNamedInKey: readonly string[] = ['manual', 'schedule', 'timer', 'decision', 'overdue', 'outbox'];

/** Returns the trigger or account of an event as stored: `http:orders` for the id `http:orders/7`. */
export function triggerHolder({ id, key }: { readonly id: string; readonly key: string }): string {
  const [source = ''] = id.split(':', 1);
  if (sourcesNamedInKey.includes(source)) return key.split('/', 3).slice(1).join(':');
  return id.split('/', 1)[0] ?? id;
}

/** SQL of `triggerHolder` for PostgreSQL. */
export const triggerHolderSql = `CASE
  WHEN split_part(id, ':', 1) IN (${sourcesNamedInKey.map((each) => `'${each}'`).join(', ')})
  THEN split_part(key, '/', 2) || ':' || split_part(key, '/', 3) ELSE split_part(id, '/', 1) END`;

/**
 * Returns the limit of waiting events for accepting these. Decisions and control calls end waiting work and
 * are handled immediately, so they are accepted up to twice the limit.
 */
export function acceptanceLimit(events: readonly Pick<NewEvent, 'key'>[], maxWaiting: number): number {
  return events.every(({ key }) => isControlKey(key)) ? 2 * maxWaiting : maxWaiting;
}

/** Returns true if one more event may wait. */
export function canWait({ total, trigger, conversation }: WaitingUsage, limit: number): boolean {
  return trigger + conversation < limit - total || trigger < Math.ceil(limit * GUARANTEED_PART);
}

/** Returns true if `added` more events may wait, even if all waiting events have the same holders. */
export function canWaitAny(total: number, added: number, limit: number): boolean {
  const last = total + added - 1;
  return added < 1 || canWait({ total: last, trigger: last, conversation: last }, limit);
}

/** Returns the message of an error for refused events. */
export function waitingRefusal(
  holder: string,
  { total, trigger }: Pick<WaitingUsage, 'total' | 'trigger'>,
  maxWaiting: number,
): string {
  return (
    `too many events wait: ${trigger} of ${total} are events of ${holder} (deliveries.max_waiting: ` +
    `${maxWaiting}); try again later, discard waiting events, or raise the limit`
  );
}
