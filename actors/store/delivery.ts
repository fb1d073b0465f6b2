// Delivery records, with their filters, pages and counts. A delivery is the record of an event and its
// attempts; it exists longer than the event's body is needed.

import type { LimitUsage } from '../base/bounds/limit-usage.ts';

export type DeliveryState =
  | 'queued'
  | 'running'
  | 'retrying'
  | 'held'
  | 'waiting'
  | 'done'
  | 'dead'
  | 'ignored';

/** Failed attempt. */
export interface Failure {
  readonly attempt: number;
  /** End of the attempt, epoch milliseconds. */
  readonly at: number;
  readonly note: string;
}

/** Event record, kept for the retention time. Times are epoch milliseconds. */
export interface Delivery {
  readonly seq: number;
  readonly id: string;
  readonly key: string;
  readonly trace: string;
  readonly kind: string;
  readonly state: DeliveryState;
  /** Number of attempts since the last checkpoint. */
  readonly attempts: number;
  /** Number of attempts that crashed the process. */
  readonly crashes: number;
  readonly receivedAt: number;
  /** Start of the last attempt. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** Set in state `retrying`. */
  readonly retryAt: number | undefined;
  /** Name that wakes the parked event; set in state `waiting`. */
  readonly waitingFor: string | undefined;
  /** Due date of the timer that wakes the parked event; set in state `waiting`. */
  readonly until: number | undefined;
  readonly trigger: string | undefined;
  readonly note: string | undefined;
  readonly answer: string | undefined;
  readonly receipt: string | undefined;
  /** Number of deferrals, for example by a rate limit. A deferral is not an attempt. */
  readonly deferrals: number;
  readonly failures: readonly Failure[];
}

/** Delivery failure that the platform reported later, for a message it had accepted. */
export interface Undelivered {
  /** The platform's id of the message. */
  readonly receipt: string;
  readonly note: string;
}

export interface DeliveryFilter {
  readonly states?: readonly DeliveryState[];
  readonly trigger?: string;
  /** Prefix of the id, such as `repohost:`. */
  readonly idPrefix?: string;
  /** Prefix of the key. */
  readonly keyPrefix?: string;
  /** Received at or after, epoch milliseconds. */
  readonly since?: number;
  /** Returns older deliveries only: `beforeSeq` of the previous page, or any `seq`. */
  readonly beforeSeq?: number;
  /** At most 1,000. */
  readonly limit: number;
}

export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: readonly Delivery[];
  /** `beforeSeq` of the next page; undefined on the last page. */
  readonly beforeSeq: number | undefined;
}

/** Usage of the limits of waiting and parked events, with the largest triggers and targets. */
export interface EventUsage {
  readonly waiting: LimitUsage;
  readonly parked: LimitUsage;
}

export type DeliveryCounts = Readonly<Record<Exclude<DeliveryState, 'done' | 'ignored'>, number>>;
