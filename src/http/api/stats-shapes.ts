// Types of the JSON of `GET /stats`, for API, CLI and inspector (see server-shapes.ts).

import type { LimitUsage } from '../../../actors/base/bounds/limit-usage.ts';
import type { SlotFigures } from '../../../actors/base/bounds/slot-queue.ts';
import type { QueueStats } from '../../../actors/events/inbox/queue-stats.ts';
import type { DeliveryCounts } from '../../../actors/store/delivery.ts';
import type { AlarmRecord } from './alarm-shapes.ts';
import type { ServerStats } from './server-shapes.ts';
import type { TargetStats } from './target-shapes.ts';
import type { CircuitRecord, ConnectionRecord, TriggerState } from './trigger-shapes.ts';

/** Counters of requests and sessions of clients. */
export interface ClientStats {
  readonly requests: {
    readonly total: number;
    readonly failed: number;
    readonly tool_errors: number;
    readonly in_flight: number;
  };
  readonly sessions: number;
  readonly listens: number;
}

export interface ProfileStats extends ClientStats {
  /** Ids of the servers in the profile. */
  readonly servers: readonly string[];
}

export interface TriggerStats
  extends Pick<TriggerState, 'state' | 'paused' | 'blocked_by' | 'handled' | 'failed'> {
  readonly connection: ConnectionRecord['state'] | null;
  readonly circuit: CircuitRecord['state'] | null;
}

type ByName<Value> = Readonly<Record<string, Value>>;

/** Statistics of the automation, if the gateway has one. */
export interface AutomationStats {
  readonly triggers: ByName<TriggerStats>;
  readonly agents: ByName<TargetStats>;
  readonly fleets: ByName<TargetStats>;
  readonly flows: ByName<TargetStats>;
  /** Null if the store did not respond in time. */
  readonly deliveries: DeliveryCounts | null;
  readonly conversations: QueueStats;
  /** Usage of the shared limits, by setting. */
  readonly limits: ByName<LimitUsage>;
  /** Slots for steps of runs. */
  readonly slots: Readonly<Record<'model_calls' | 'flow_nodes', SlotFigures>>;
  /** Sum over all platforms. */
  readonly outbox: QueueStats;
  /** Outbox queue per platform. */
  readonly platforms: ByName<QueueStats>;
}

export interface Stats extends ClientStats, Partial<AutomationStats> {
  /** Responding node, in a cluster. */
  readonly node?: string;
  readonly uptime_seconds: number;
  /** Alarms of the responding node: errors first. */
  readonly alarms: readonly AlarmRecord[];
  readonly servers: ByName<ServerStats>;
  readonly profiles?: ByName<ProfileStats>;
}
