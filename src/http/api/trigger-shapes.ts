// Types of the JSON of `GET /triggers` and `GET /triggers/:name`, for API, CLI and inspector (see
// server-shapes.ts).

import type { TriggerRetry } from '../../../config/resources/triggers/trigger-of.ts';
import type { AlarmState } from './alarm-shapes.ts';
import type { DeliveryRecord } from './delivery-shapes.ts';

/** Trigger state, also sent to the inspector. */
export interface TriggerState {
  readonly name: string;
  readonly type: string;
  readonly state: 'off' | 'opening' | 'open' | 'paused' | 'closing' | 'failed' | 'ended';
  readonly paused: boolean;
  /** Code of the alarm that prevents new events, such as `disk_full`; null if events are accepted. */
  readonly blocked_by: AlarmState['code'] | null;
  /** Answered events. */
  readonly handled: number;
  /** Failed attempts. */
  readonly failed: number;
  readonly last_event_at: string | null;
  readonly last_error: string | null;
  readonly next_retry_at: string | null;
  /** Null if the type has no connection. */
  readonly connection: ConnectionRecord | null;
  /** Null if the platform responds. Otherwise sending is paused. */
  readonly circuit: CircuitRecord | null;
}

/** Connection to a platform. Triggers with the same account share it. */
export interface ConnectionRecord {
  readonly platform: string;
  readonly account: string;
  /** `standby` if another node is connected instead. */
  readonly state: string;
  readonly since: string;
  /** Name of that node, if known. */
  readonly held_by: string | null;
  readonly last_error: string | null;
  readonly next_retry_at: string | null;
}

export interface CircuitRecord {
  readonly state: 'open' | 'halfOpen';
  readonly since: string;
  readonly last_error: string;
  readonly next_retry_at: string | null;
}

/** Command like in the file: the target is the value of `agent`, `fleet` or `flow`. */
export interface CommandRecord {
  readonly command: string;
  readonly agent?: string;
  readonly fleet?: string;
  readonly flow?: string;
  readonly description: string | undefined;
  readonly parameters: readonly ParameterRecord[];
}

export interface ParameterRecord {
  readonly name: string;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly default: string | undefined;
}

export interface TriggerRecord extends TriggerState {
  readonly maturity: string | null;
  readonly commands: readonly CommandRecord[];
  readonly default_agent: string | null;
  readonly requires_confirmation: boolean;
  readonly retry: TriggerRetry;
  readonly timeout_seconds: number;
  readonly on_failure: 'reply' | 'silent';
  readonly mentions: 'none' | 'allow';
  readonly labels: Readonly<Record<string, string>>;
}

export interface TriggerList {
  readonly triggers: readonly TriggerRecord[];
}

export interface TriggerDetailsRecord extends TriggerRecord {
  /** How events reach the trigger, for example the webhook path. */
  readonly way_in: string;
  readonly welcome: string | null;
  readonly menu: readonly { readonly command: string; readonly description: string }[] | null;
  readonly limits: LimitsRecord | null;
  readonly remarks: readonly { readonly at: string; readonly text: string }[];
  readonly last_event: Pick<DeliveryRecord, 'id' | 'state' | 'received_at'> | null;
  /** Requests to the trigger that the gateway refused. */
  readonly refused_requests: {
    readonly count: number;
    readonly last_at: string;
    readonly reason: string;
    readonly text: string;
  } | null;
  /** Events that the gateway refused because their id is known. */
  readonly duplicate_events: {
    readonly count: number;
    readonly last_at: string;
    readonly last_id: string;
  } | null;
  /** Last message of the trigger that the platform refused. */
  readonly last_refusal:
    | (Pick<DeliveryRecord, 'id' | 'state' | 'note'> & { readonly at: string | null })
    | null;
}

export interface LimitsRecord {
  readonly text: { readonly most: number; readonly unit: 'utf16' | 'utf8' | 'json' | 'entities' };
  readonly buttons: number | null;
  readonly rates: readonly {
    readonly of: string;
    readonly most: number;
    readonly per_seconds: number;
    readonly at_once: number;
  }[];
  /** Rates at which the gateway currently holds messages back. */
  readonly held: readonly { readonly of: string; readonly until: string }[];
}

/** JSON of POST /triggers/:name/run. */
export interface RunResponse {
  readonly id: string;
  /** `accepted` if the run was not completed within the requested time. */
  readonly state: DeliveryRecord['state'] | 'accepted';
  readonly answer: string | null;
  readonly note: string | null;
  readonly waiting_for: string | null;
  readonly until: string | null;
}

/** JSON of POST /triggers/:name/send. */
export interface SendResponse {
  /** Ids of the deliveries, one per message. */
  readonly deliveries: readonly string[];
}
