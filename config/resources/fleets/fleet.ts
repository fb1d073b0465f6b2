// The type of a fleet (several agents that work on one event) after validation, including defaults.

import type { Agent } from '../agents/agent.ts';
import type { AgentBudget } from '../agents/model-runtime.ts';

export interface FleetMember {
  readonly name: string;
  /** Agent name, or an inline agent. */
  readonly agent: string | Agent;
  readonly description: string | undefined;
  /** Weight in thousandths. */
  readonly weight: number;
  readonly isManager: boolean;
  /** Tier, from 1. Tiers run one after another. */
  readonly tier: number;
}

export interface Consensus {
  /** Field of the answers' `output_schema`. */
  readonly field: string;
  readonly algorithm: 'majority' | 'unanimous' | 'weighted';
  readonly min_votes: number;
  /** Fallback for votes with no result: the fleet fails, or the member decides. */
  readonly on_none: 'fail' | { readonly agent: string };
}

export type Coordination =
  | { readonly mode: 'pipeline' }
  | { readonly mode: 'hierarchical' }
  | { readonly mode: 'peer' | 'tiered'; readonly by: Consensus | 'merge' | 'manager' };

export interface Fleet {
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
  /** Content hash. */
  readonly hash: string;
  readonly description: string | undefined;
  readonly members: readonly FleetMember[];
  readonly coordination: Coordination;
  /** Reaction to failures of non-voting members: fail the fleet, or skip the member. */
  readonly on_failure: 'fail' | 'skip';
  /** Budget of tokens and cost for all members together. */
  readonly budget: AgentBudget;
  /** Working time, without the time spent waiting for people. */
  readonly timeout_seconds: number;
  /** Maximum concurrent members. */
  readonly concurrency: number;
  /** Fleet file as JSON text with unresolved `${VAR}`. Started runs use it, even if the file changes. */
  readonly definition: string;
}
