// What goes from the gateway to whoever watches it, for both ends: the server side fills these, the page reads them.
// Types only. Field names are those of the JSON. Records of the API have its times; the feed's own are epoch milliseconds.

import type { QueueStats } from '../../../actors/events/inbox/queue-stats.ts';
import type { DeliveryCounts } from '../../../actors/store/delivery.ts';
import type { NodesAnswer } from '../../http/api/node-shapes.ts';
import type { ServerStats, ServerTrouble } from '../../http/api/server-shapes.ts';
import type { ClientStats } from '../../http/api/stats-shapes.ts';
import type { TriggerState } from '../../http/api/trigger-shapes.ts';

/** `{"failed":"parked"}` for nested states, as XState writes it. */
export type StateValue = string | { readonly [region: string]: StateValue | undefined };

export interface ActorNode {
  /** Unique in this process, and never used again. */
  readonly id: string;
  readonly parent: string | null;
  /** What its parent calls it, such as `files#2` for the third life of server `files`. */
  readonly name: string;
  /** The machine it runs, by name; null for what is no machine, such as a promise. */
  readonly machine: string | null;
  /** The machine's state; `active`, `done`, `error` or `stopped` where there is no machine. */
  readonly state: StateValue;
  /** Of its context what the machine names in `meta.inspect`. */
  readonly context?: Readonly<Record<string, number | boolean | string>> | undefined;
}

export interface Step {
  /** Counts up in the order in which the events came, since the feed has begun. */
  readonly n: number;
  /** The event's type. */
  readonly event: string;
  /** The id of the actor that sent it; null when it came from outside of the tree. */
  readonly source: string | null;
  /** The state it led to; null when it left the actor where it was. */
  readonly state: StateValue | null;
  readonly at: number;
}

export interface ActorFrame extends ActorNode {
  readonly isGone: boolean;
  readonly steps: readonly Step[];
}

/** What has happened since the frame before. */
export interface Frame {
  readonly at: number;
  readonly actors: readonly ActorFrame[];
  /** Steps and actors that found no room, since the feed has begun. */
  readonly dropped: number;
}

export interface RecentStep extends Step {
  readonly actor: string;
  readonly name: string;
  readonly machine: string | null;
}

/** All actors at one moment. */
export interface Tree {
  readonly at: number;
  readonly actors: readonly ActorNode[];
  /** The latest steps while somebody watched, oldest first. */
  readonly recent: readonly RecentStep[];
  readonly dropped: number;
}

export interface TreeMessage extends Tree {
  /** Tells one run of the gateway from another: ids of actors mean nothing beyond it. */
  readonly started_at: number;
  /** Messages that this viewer was too slow for. */
  readonly missed: number;
}

export interface ServerNumbers extends ServerStats, ServerTrouble {
  readonly id: string;
}

/** Of a kind of work: on events, or on answers that are to be sent. */
export interface WorkNumbers extends Omit<QueueStats, 'states'> {
  /** Of its actor: `conversations`, `outbox`. */
  readonly name: string;
}

export interface AutomationTotals {
  /** Null while the store does not answer. */
  readonly deliveries: DeliveryCounts | null;
  /** Every kind that the gateway has. */
  readonly works: readonly WorkNumbers[];
}

export interface ClusterNumbers extends NodesAnswer {
  /** Name of the node that serves this page. */
  readonly own: string;
}

export interface Totals extends ClientStats {
  readonly at: number;
  readonly version: string;
  readonly started_at: number;
  readonly is_draining: boolean;
  /** Whether servers may be started and stopped from here, and triggers paused. */
  readonly commands: boolean;
  readonly dead_letters: number;
  readonly viewers: number;
  /** Null where there are no triggers. */
  readonly automation: AutomationTotals | null;
  /** Null where the store is shared with nobody. */
  readonly cluster: ClusterNumbers | null;
}

export interface NumbersMessage extends Totals {
  /** Those that are new or not as they were; after `tree` all of them. */
  readonly servers: readonly ServerNumbers[];
  /** Ids of servers that have left the catalog. */
  readonly gone: readonly string[];
  /** As the servers. */
  readonly triggers: readonly TriggerState[];
  readonly gone_triggers: readonly string[];
}

/** A client's session, or a client of the modern era that listens: it has none, and takes a place like one. */
export interface SessionRow {
  /** Counts up since the gateway has started. Not the session's id: whoever knows that can take the session over. */
  readonly number: number;
  /** What the client calls itself. */
  readonly client: string;
  readonly version: string;
  /** `/mcp`, or `/mcp/files`. */
  readonly endpoint: string;
  readonly era: 'legacy' | 'modern';
  readonly protocol_version: string;
  /** `calling` with a call in flight, else `listening` with an open stream, else `idle`. */
  readonly state: 'calling' | 'listening' | 'idle';
  readonly opened_at: number;
  /** Of the client's last message. */
  readonly last_seen_at: number;
  /** Open streams for what belongs to no call. */
  readonly streams: number;
  readonly in_flight: number;
}

/** A piece of the list of sessions, the oldest first. */
export interface SessionList {
  readonly at: number;
  readonly total: number;
  /** How many the filter lets through; `from` counts among these. */
  readonly matching: number;
  readonly from: number;
  readonly sessions: readonly SessionRow[];
}

/** One session, and where it stands in the list. */
export interface SessionPlace {
  readonly at: number;
  /** Null where the filter leaves it out. */
  readonly index: number | null;
  readonly session: SessionRow;
}

/** A state of a machine, with everything that the chart of it needs. */
export interface MachineState {
  /** From the machine down, such as `failed.parked`; '' for the machine itself. */
  readonly path: string;
  readonly key: string;
  readonly type: 'atomic' | 'compound' | 'parallel' | 'final' | 'history';
  /** The path of the state that is entered first; null where there is no choice. */
  readonly initial: string | null;
  readonly states: readonly MachineState[];
  readonly transitions: readonly MachineTransition[];
}

export interface MachineTransition {
  /** The event's type; '' for one that needs no event. */
  readonly event: string;
  /** Paths; empty for one that stays where it is. */
  readonly targets: readonly string[];
  /** The name of its condition. */
  readonly guard: string | null;
}

export interface MachineDefinition {
  readonly id: string;
  readonly root: MachineState;
}
