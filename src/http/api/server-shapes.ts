// Types of the JSON about servers, in `GET /servers`, `GET /servers/:id` and `GET /stats`. The files
// *-shapes.ts contain only types, because the inspector's page also imports them, and is compiled without the
// types of Node.

import type { ServerState } from '../../../machines/server.ts';

interface ServerCounters {
  readonly requests: number;
  readonly failed: number;
  /** Results of tools that report an error (`isError`); not included in `failed`. */
  readonly tool_errors: number;
  readonly in_flight: number;
  readonly waiting: number;
  readonly restarts: number;
  readonly uptime_seconds: number;
}

/** Statistics of one server. */
export interface ServerStats extends ServerCounters {
  readonly state: ServerState;
  /** Set in state `starting`, during the installation. */
  readonly installing: InstallRecord | null;
  readonly latency_ms: Readonly<Record<'p50' | 'p95' | 'p99', number | null>>;
}

export interface ServerTrouble {
  /** Last failure, also after a successful restart. */
  readonly last_error: { readonly code: string; readonly message: string } | null;
  readonly next_retry_at: string | null;
  /** True if the server has failed too often: requests fail immediately until `next_retry_at`. */
  readonly is_parked: boolean;
}

/** An installation by a launcher, such as npx, that precedes the start. */
export interface InstallRecord {
  readonly program: string;
  /** True in the queue behind other installations. */
  readonly is_waiting: boolean;
  readonly seconds: number;
  /** Number of lines printed by the launcher, as a measure of progress. */
  readonly lines: number;
  readonly last_line: string | null;
}

export interface ServerRecord extends ServerCounters, ServerTrouble {
  readonly id: string;
  readonly runtime: string;
  readonly state: ServerState;
  readonly isolation: string;
  /** Only for a server with a single instance in the cluster. */
  readonly placement?: 'cluster';
  /** The node on which such a server runs; null if it does not run. */
  readonly node?: string | null;
  readonly enabled: boolean;
  /** Set in state `starting`, during the installation. */
  readonly installing: InstallRecord | null;
  readonly started_at: string | null;
  readonly last_used_at: string | null;
  readonly pids: readonly number[];
}

export interface ServerList {
  readonly servers: readonly ServerRecord[];
}

/** Invalid list items, which merged lists repair or omit. `items` describes only the first. */
export interface InvalidItems {
  readonly repaired: number;
  readonly omitted: number;
  readonly items: readonly { readonly name: string; readonly outcome: string; readonly reason: string }[];
}

/** Null if the list is not known yet. */
export type ListRecord = {
  readonly count: number;
  readonly cut: { readonly reason: string; readonly message: string } | null;
  readonly invalid: InvalidItems | null;
} | null;

export interface ServerDetails extends ServerRecord {
  readonly eras: readonly string[];
  readonly tools: readonly string[];
  readonly lists: Readonly<Record<'tools' | 'prompts' | 'resources' | 'resource_templates', ListRecord>>;
  readonly connections: readonly {
    readonly session: string | null;
    readonly pid: number | null;
    readonly is_open: boolean;
    readonly in_flight: number;
    readonly protocol_version: string | null;
  }[];
  readonly stderr: readonly string[];
}
