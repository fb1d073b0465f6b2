// Types of the JSON of `GET /agents`, `GET /fleets` and `GET /flows`, for API, CLI and inspector (see
// server-shapes.ts).

import type { ParameterRecord } from './trigger-shapes.ts';

/**
 * Counters since the start of the gateway. The counters of fleets and flows include the work of all parts.
 */
export interface TargetStats {
  /** Completed runs. */
  readonly runs: number;
  /** Attempts that are running now. */
  readonly running: number;
  /** Failed attempts. */
  readonly failed: number;
  readonly iterations: number;
  readonly cost: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** Agent, fleet or flow in a running gateway, as opposed to one from a file. */
export type Loaded<Target> = Target & { readonly stats: TargetStats };

export interface AgentRecord {
  readonly name: string;
  readonly description: string | null;
  /** Model as written in the file: PROVIDER:MODEL. */
  readonly model: string | null;
  readonly runtime: string;
  readonly tools: readonly string[];
  readonly mcp_servers: readonly string[];
}

export type LoadedAgent = Loaded<AgentRecord> & { readonly servers: readonly AgentServerRecord[] };

/** An agent's tool server. */
export interface AgentServerRecord {
  readonly name: string;
  /** True if the agent's file defines it; false for a server of the catalog. */
  readonly own: boolean;
  /** Null for a server that was never started, and for unknown servers. */
  readonly state: string | null;
  readonly last_error: string | null;
}

/** A fleet's coordination and members. */
export interface FleetPlan {
  /** One of `pipeline`, `peer`, `hierarchical` and `tiered`. */
  readonly mode: string;
  /** Null if the fleet does not vote. */
  readonly vote: { readonly field: string; readonly algorithm: string; readonly min_votes: number } | null;
  /** `merge` or `manager`. */
  readonly aggregation: string | null;
  readonly members: readonly {
    readonly name: string;
    /** Null if the agent is defined inside the fleet. */
    readonly agent: string | null;
    readonly weight: number;
    readonly manager: boolean;
    readonly tier: number;
  }[];
}

export interface FleetRecord extends FleetPlan {
  readonly name: string;
  readonly description: string | null;
  readonly timeout_seconds: number;
}

export interface FlowRecord {
  readonly name: string;
  readonly description: string | null;
  readonly parameters: readonly ParameterRecord[];
  /** Includes nodes inside loops. */
  readonly nodes_count: number;
  readonly timeout_seconds: number;
}

/** Graph of a flow, or of the nodes inside a loop. */
export interface GraphRecord {
  readonly nodes: readonly GraphNodeRecord[];
  /** In the order of the file. */
  readonly connections: readonly {
    readonly from: string;
    readonly to: string;
    /** Condition as written; null if unconditional. */
    readonly when: string | null;
  }[];
}

export interface GraphNodeRecord {
  readonly id: string;
  readonly type: string;
  readonly description: string | null;
  /** Next node after a failure. */
  readonly on_error: string | null;
  /** Only for loops: the graph inside. */
  readonly inside?: GraphRecord;
}

export type FlowDetails = FlowRecord & GraphRecord;
