// Messages of the feed, from the gateway to pages. Types only; member names are the JSON names. Records of
// the API have ISO 8601 times; all other times are epoch milliseconds.

import type { LimitUsage } from '../../../actors/base/bounds/limit-usage.ts';
import type { QueueStats } from '../../../actors/events/inbox/queue-stats.ts';
import type { DeliveryCounts } from '../../../actors/store/delivery.ts';
import type { AlarmRecord } from '../../http/api/alarm-shapes.ts';
import type { NodesAnswer } from '../../http/api/node-shapes.ts';
import type { ServerStats, ServerTrouble } from '../../http/api/server-shapes.ts';
import type { ClientStats } from '../../http/api/stats-shapes.ts';
import type { TriggerState } from '../../http/api/trigger-shapes.ts';

/** Nested states as in XState: `{"failed":"parked"}`. */
export type StateValue = string | { readonly [region: string]: StateValue | undefined };

export interface ActorNode {
  /** Unique in this process; never reused. */
  readonly id: string;
  readonly parent: string | null;
  /** Name within its parent, such as `files#2` for the second start of server `files`. */
  readonly name: string;
  /** Machine id; null for other actors, such as promises. */
  readonly machine: string | null;
  /** State of the machine; for other actors `active`, `done`, `error` or `stopped`. */
  readonly state: StateValue;
  /** Context fields that the machine lists in `meta.inspect`. */
  readonly context?: Readonly<Record<string, number | boolean | string>> | undefined;
}

export interface MachineStep {
  /** Sequence number within the feed. */
  readonly n: number;
  /** Event type. */
  readonly event: string;
  /** Id of the sending actor; null for events from outside the tree. */
  readonly source: string | null;
  /** New state; null if the state did not change. */
  readonly state: StateValue | null;
  readonly at: number;
}

/** An actor with its steps since the previous frame. */
export interface ActorFrame extends ActorNode {
  /** True if the actor is done, failed or stopped. */
  readonly isGone: boolean;
  readonly steps: readonly MachineStep[];
}

/** Events since the previous frame. */
export interface Frame {
  readonly at: number;
  readonly actors: readonly ActorFrame[];
  /** Total number of omitted steps and actors. */
  readonly dropped: number;
}

export interface RecentStep extends MachineStep {
  readonly actor: string;
  readonly name: string;
  readonly machine: string | null;
}

/** Complete actor tree. */
export interface Tree {
  readonly at: number;
  readonly actors: readonly ActorNode[];
  /** Latest steps while there were viewers, oldest first. */
  readonly recent: readonly RecentStep[];
  /** Total number of omitted steps and actors. */
  readonly dropped: number;
}

export interface TreeMessage extends Tree {
  /** Identifies the run of the gateway; actor ids are only valid within it. */
  readonly started_at: number;
  /** Number of messages that this viewer missed because it was slow. */
  readonly missed: number;
}

export interface ServerNumbers extends ServerStats, ServerTrouble {
  readonly id: string;
}

/**
 * Figures for one kind of work (conversations or outbound messages). It has one actor per mailbox (queue).
 */
export interface WorkNumbers extends Omit<QueueStats, 'states'> {
  /** Actor name: `conversations`, `outbox`. */
  readonly name: string;
}

export interface AutomationTotals {
  /** Null if the store does not respond. */
  readonly deliveries: DeliveryCounts | null;
  /** Usage of the shared limits of events and runs, by setting. */
  readonly limits: Readonly<Record<string, LimitUsage>>;
  /** All kinds of work of this gateway. */
  readonly works: readonly WorkNumbers[];
}

export interface ClusterNumbers extends NodesAnswer {
  /** Name of the node that serves this page. */
  readonly own: string;
}

/** Numbers of the whole gateway. */
export interface Totals extends ClientStats {
  readonly at: number;
  readonly version: string;
  readonly started_at: number;
  readonly is_draining: boolean;
  /** Alarms of the gateway: errors first. */
  readonly alarms: readonly AlarmRecord[];
  /** True if the page may send commands. */
  readonly commands: boolean;
  readonly dead_letters: number;
  readonly viewers: number;
  /** Null without triggers. */
  readonly automation: AutomationTotals | null;
  /** Null if no other node uses the store. */
  readonly cluster: ClusterNumbers | null;
}

export interface NumbersMessage extends Totals {
  /** New and changed servers. The message after `tree` contains all servers. */
  readonly servers: readonly ServerNumbers[];
  /** Ids of servers that were removed from the catalog. */
  readonly gone: readonly string[];
  /** New and changed triggers. The message after `tree` contains all triggers. */
  readonly triggers: readonly TriggerState[];
  readonly gone_triggers: readonly string[];
}

/**
 * Client session. A client of the modern era (stateless, MCP 2026-07-28) that listens for changes is also
 * listed, although it has no session.
 */
export interface SessionRow {
  /** Sequence number, starts with the gateway. The session id is secret. */
  readonly number: number;
  /** Client name, as declared by the client. */
  readonly client: string;
  readonly version: string;
  /** `/mcp`, or `/mcp/files`. */
  readonly endpoint: string;
  /** Protocol era: MCP with sessions, or stateless requests. */
  readonly era: 'legacy' | 'modern';
  readonly protocol_version: string;
  /** `calling` with a call in flight, otherwise `listening` with an open stream, otherwise `idle`. */
  readonly state: 'calling' | 'listening' | 'idle';
  readonly opened_at: number;
  /** Time of the client's last message. */
  readonly last_seen_at: number;
  /** Number of open streams that serve no call. */
  readonly streams: number;
  readonly in_flight: number;
}

/** Part of the session list, oldest first. */
export interface SessionList {
  readonly at: number;
  readonly total: number;
  /** Number of sessions that match the filter; `from` is an index among them. */
  readonly matching: number;
  readonly from: number;
  readonly sessions: readonly SessionRow[];
}

/** One session and its index in the list. */
export interface SessionPosition {
  readonly at: number;
  /** Null if the session does not match the filter. */
  readonly index: number | null;
  readonly session: SessionRow;
}

/** Machine state, for the chart. */
export interface MachineState {
  /** Path from the machine, such as `failed.parked`; '' for the machine itself. */
  readonly path: string;
  /** Name within the parent state. */
  readonly key: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  /** Path of the initial state; null without one. */
  readonly initial: string | null;
  readonly states: readonly MachineState[];
  readonly transitions: readonly MachineTransition[];
}

export interface MachineTransition {
  /** Event type; '' for automatic transitions. */
  readonly event: string;
  /** Paths; empty if the state does not change. */
  readonly targets: readonly string[];
  /** Name of the condition. */
  readonly guard: string | null;
}

export interface MachineDefinition {
  readonly id: string;
  readonly root: MachineState;
}
