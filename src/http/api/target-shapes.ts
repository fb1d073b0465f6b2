// JSON of `GET /agents`, `GET /fleets` and `GET /flows`. Types for API, CLI and inspector (server-shapes.ts).

import type { ParameterRecord } from './trigger-shapes.ts';

/** Counters since the start. Fleets and flows include the work of all parts. */
export interface TargetStats {
  /** Completed runs. */
  readonly runs: number;
  /** Attempts under way. */
  readonly running: number;
  /** Attempts failed. */
  readonly failed: number;
  readonly iterations: number;
  readonly cost: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** Target in a running gateway. */
export type Loaded<Target> = Target & { readonly stats: TargetStats };

export interface AgentRecord {
  readonly name: string;
  readonly description: string | null;
  /** As written, PROVIDER:MODEL. */
  readonly model: string | null;
  readonly runtime: string;
  readonly tools: readonly string[];
  readonly mcp_servers: readonly string[];
}

export type LoadedAgent = Loaded<AgentRecord> & { readonly servers: readonly AgentServerRecord[] };

/** Tool server of an agent. */
export interface AgentServerRecord {
  readonly name: string;
  /** True if the agent's file defines it; false for a server of the catalog. */
  readonly own: boolean;
  /** Null if the server was never started or is unknown. */
  readonly state: string | null;
  readonly last_error: string | null;
}

/** Coordination and members. */
export interface FleetPlan {
  /** `pipeline`, `peer`, `hierarchical`, `tiered`. */
  readonly mode: string;
  /** Null without a vote. */
  readonly vote: { readonly field: string; readonly algorithm: string; readonly min_votes: number } | null;
  /** `merge` or `manager`. */
  readonly aggregation: string | null;
  readonly members: readonly {
    readonly name: string;
    /** Null for an inline agent. */
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
  /** Including nodes in loops. */
  readonly nodes_count: number;
  readonly timeout_seconds: number;
}

/** Graph of a flow or loop. */
export interface GraphRecord {
  readonly nodes: readonly GraphNode[];
  /** In the order of the file. */
  readonly connections: readonly {
    readonly from: string;
    readonly to: string;
    /** Condition as written; null if unconditional. */
    readonly when: string | null;
  }[];
}

export interface GraphNode {
  readonly id: string;
  readonly type: string;
  readonly description: string | null;
  /** Next node after a failure. */
  readonly on_error: string | null;
  /** Only in loops. */
  readonly inside?: GraphRecord;
}

export type FlowDetails = FlowRecord & GraphRecord;
