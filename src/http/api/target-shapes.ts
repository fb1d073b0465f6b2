// JSON of agents, fleets and flows: GET /agents, /fleets and /flows. Types only, shared by the API, the command line and the
// inspector's page, which is checked without the types of Node. Definitions in files have no `stats`.

import type { ParameterRecord } from './trigger-shapes.ts';

/** Since the start of the gateway; of a fleet or a flow with all that was done within it. */
export interface TargetStats {
  /** Runs that were answered. */
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

/** A target of the running gateway. */
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

/** A server from which an agent takes tools. */
export interface AgentServerRecord {
  readonly name: string;
  /** True if the agent's file defines it; false for a server of the catalog. */
  readonly own: boolean;
  /** Null for a server that no run has needed yet, or that is not in the catalog. */
  readonly state: string | null;
  readonly last_error: string | null;
}

/** How a fleet comes to one answer. */
export interface FleetPlan {
  /** `pipeline`, `peer`, `hierarchical`, `tiered`. */
  readonly mode: string;
  /** Null without a vote. */
  readonly vote: { readonly field: string; readonly algorithm: string; readonly min_votes: number } | null;
  /** `merge` or `manager`. */
  readonly aggregation: string | null;
  readonly members: readonly {
    readonly name: string;
    /** Null for an agent that is written in the fleet. */
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
  /** With those of loops. */
  readonly nodes_count: number;
  readonly timeout_seconds: number;
}

/** Nodes of a flow or a loop, and what leads from one to the other. */
export interface GraphRecord {
  readonly nodes: readonly GraphNode[];
  /** In the order of the file. */
  readonly connections: readonly {
    readonly from: string;
    readonly to: string;
    /** As written; null for always. */
    readonly when: string | null;
  }[];
}

export interface GraphNode {
  readonly id: string;
  readonly type: string;
  readonly description: string | null;
  /** The node that goes on where this one fails. */
  readonly on_error: string | null;
  /** Of a loop. */
  readonly inside?: GraphRecord;
}

export type FlowDetails = FlowRecord & GraphRecord;
