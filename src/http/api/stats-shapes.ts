// JSON of GET /stats. Types only, shared by the API, the command line and the inspector's page, which is checked without the
// types of Node.

import type { QueueStats } from '../../../actors/events/inbox/queue-stats.ts';
import type { DeliveryCounts } from '../../../actors/store/delivery.ts';
import type { ServerStats } from './server-shapes.ts';
import type { TargetStats } from './target-shapes.ts';
import type { CircuitRecord, ConnectionRecord, TriggerState } from './trigger-shapes.ts';

/** Counters of the clients. */
export interface ClientStats {
  readonly requests: { readonly total: number; readonly failed: number; readonly in_flight: number };
  readonly sessions: number;
  readonly listens: number;
}

export interface ProfileStats extends ClientStats {
  /** Ids. */
  readonly servers: readonly string[];
}

export interface TriggerStats extends Pick<TriggerState, 'state' | 'paused' | 'handled' | 'failed'> {
  readonly connection: ConnectionRecord['state'] | null;
  readonly circuit: CircuitRecord['state'] | null;
}

type ByName<Value> = Readonly<Record<string, Value>>;

/** Of a gateway with triggers. */
export interface AutomationStats {
  readonly triggers: ByName<TriggerStats>;
  readonly agents: ByName<TargetStats>;
  readonly fleets: ByName<TargetStats>;
  readonly flows: ByName<TargetStats>;
  /** Null if the store did not answer in time. */
  readonly deliveries: DeliveryCounts | null;
  readonly conversations: QueueStats;
  /** Of all platforms together. */
  readonly outbox: QueueStats;
  /** By the word of the platform. */
  readonly platforms: ByName<QueueStats>;
}

export interface Stats extends ClientStats, Partial<AutomationStats> {
  /** The node that answers, if gateways share a store. */
  readonly node?: string;
  readonly uptime_seconds: number;
  readonly servers: ByName<ServerStats>;
  readonly profiles?: ByName<ProfileStats>;
}
