// What goes from the gateway to whoever watches it, for both ends: the server side fills these, the page reads them.
// Types only. Field names are those of the JSON; times are epoch milliseconds.

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

export interface ServerNumbers {
  readonly id: string;
  readonly state: string;
  readonly requests: number;
  readonly failed: number;
  readonly in_flight: number;
  readonly waiting: number;
  readonly restarts: number;
  readonly uptime_seconds: number;
  readonly latency_ms: {
    readonly p50: number | null;
    readonly p95: number | null;
    readonly p99: number | null;
  };
  /** Set while it is parked or waits for its next start. */
  readonly next_retry_at: number | null;
  readonly is_parked: boolean;
  /** Why it has failed last; redacted and cut. It stays when it runs again. */
  readonly last_error: string | null;
}

/** Of a connection of ours to a platform, which the triggers of an account share. */
export interface ConnectionNumbers {
  readonly platform: string;
  readonly account: string;
  /** Of its machine; `standby` while another node is connected. */
  readonly state: string;
  /** When that began. */
  readonly since: number;
  /** The name of that node, where it is known. */
  readonly held_by: string | null;
  readonly last_error: string | null;
  readonly next_retry_at: number | null;
}

/** Of the account that answers are sent under, while its platform does not answer. */
export interface CircuitNumbers {
  readonly state: 'open' | 'halfOpen';
  readonly since: number;
  readonly last_error: string;
}

export interface TriggerNumbers {
  readonly name: string;
  readonly type: string;
  /** Of its machine; `off` for one that is switched off. */
  readonly state: string;
  /** Marked as paused, in whatever state. */
  readonly is_paused: boolean;
  /** Events that were answered, and attempts that failed. */
  readonly handled: number;
  readonly failed: number;
  readonly last_event_at: number | null;
  readonly last_error: string | null;
  readonly next_retry_at: number | null;
  /** Null for one that uses none. */
  readonly connection: ConnectionNumbers | null;
  /** Null while nothing is wrong. */
  readonly circuit: CircuitNumbers | null;
}

/** Of a kind of work: on events, or on answers that are to be sent. */
export interface WorkNumbers {
  /** Of its actor: `conversations`, `outbox`. */
  readonly name: string;
  /** Mailboxes with a turn. */
  readonly active: number;
  /** Actors that have nothing to do and stay for a while. */
  readonly resting: number;
  /** Runs that go on although they were told to end. */
  readonly overruns: number;
  /** How many may be at work together. */
  readonly places: number;
  readonly handled: number;
  readonly failed: number;
  readonly dead: number;
  readonly duration_ms: { readonly p50: number | null; readonly p95: number | null };
}

export interface DeliveryNumbers {
  readonly queued: number;
  readonly running: number;
  readonly retrying: number;
  readonly held: number;
  readonly waiting: number;
  readonly dead: number;
}

export interface AutomationTotals {
  /** Null while the store does not answer. */
  readonly deliveries: DeliveryNumbers | null;
  /** Every kind that the gateway has. */
  readonly works: readonly WorkNumbers[];
}

/** A delivery that was given up. */
export interface DeadDelivery {
  readonly id: string;
  readonly trigger: string | null;
  readonly attempts: number;
  readonly ended_at: number | null;
  readonly note: string | null;
}

/** A delivery that is parked. */
export interface WaitingDelivery {
  readonly id: string;
  readonly trigger: string | null;
  /** The name that wakes it. */
  readonly waiting_for: string;
  /** When a timer does so at the latest. */
  readonly until: number | null;
  readonly note: string | null;
}

/** One of the gateways that share a store. */
export interface NodeRow {
  readonly name: string;
  readonly state: 'running' | 'draining';
  readonly epoch: number;
  readonly version: string | null;
  readonly config_hash: string | null;
  /** The one that this page is of. */
  readonly is_this: boolean;
}

export interface ClusterNumbers {
  /** By their names. */
  readonly nodes: readonly NodeRow[];
  /** How old the list is, while the database is away. */
  readonly stale_seconds: number | null;
}

export interface Totals {
  readonly at: number;
  readonly version: string;
  readonly started_at: number;
  readonly is_draining: boolean;
  /** Whether servers may be started and stopped from here, and triggers paused. */
  readonly commands: boolean;
  readonly requests: { readonly total: number; readonly failed: number; readonly in_flight: number };
  readonly sessions: number;
  readonly listens: number;
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
  readonly triggers: readonly TriggerNumbers[];
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
