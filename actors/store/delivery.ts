// The record that the store keeps of each event, what an operator may look for among the records, and how they are counted.
// The states in which an event can be; machines and people see the same ones.

export type DeliveryState =
  | 'queued'
  | 'running'
  | 'retrying'
  | 'held'
  | 'waiting'
  | 'done'
  | 'dead'
  | 'ignored';

/** One failed attempt of a delivery. */
export interface Failure {
  readonly attempt: number;
  /** When it ended, epoch ms. */
  readonly at: number;
  readonly note: string;
}

/** The record of one event, kept for the retention time. Times are epoch ms. */
export interface Delivery {
  readonly seq: number;
  readonly id: string;
  readonly key: string;
  readonly trace: string;
  readonly kind: string;
  readonly state: DeliveryState;
  /** Since its last checkpoint. */
  readonly attempts: number;
  /** So many of them ended with the process. */
  readonly crashes: number;
  readonly receivedAt: number;
  /** Begin of the last attempt. */
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  /** With `retrying`. */
  readonly retryAt: number | undefined;
  /** With `waiting`: the name that wakes it. */
  readonly waitingFor: string | undefined;
  /** With `waiting`: when a timer wakes it at the latest. */
  readonly until: number | undefined;
  readonly trigger: string | undefined;
  readonly note: string | undefined;
  readonly answer: string | undefined;
  readonly receipt: string | undefined;
  /** How often it was put off because the other side took no more: no attempts. */
  readonly deferrals: number;
  readonly failures: readonly Failure[];
}

/** Of a message that was sent, what its platform has said afterwards: that it did not arrive. */
export interface Undelivered {
  /** What the platform calls the message. */
  readonly receipt: string;
  readonly note: string;
}

export interface DeliveryFilter {
  readonly states?: readonly DeliveryState[];
  readonly trigger?: string;
  /** Beginning of the id, such as `repohost:`. */
  readonly idPrefix?: string;
  /** Beginning of the key. */
  readonly keyPrefix?: string;
  /** Received at or after, epoch ms. */
  readonly since?: number;
  /** Older than this one: where the page before says to go on, or the last `seq` that is known. */
  readonly beforeSeq?: number;
  /** At most 1,000. */
  readonly limit: number;
}

export interface DeliveryPage {
  /** The newest first. */
  readonly deliveries: readonly Delivery[];
  /** Where to go on, as the `beforeSeq` of the next one; undefined at the end. */
  readonly beforeSeq: number | undefined;
}

export type DeliveryCounts = Readonly<Record<Exclude<DeliveryState, 'done' | 'ignored'>, number>>;
