// A fleet of agents: who is in it, and how they come to one answer. Filled: nothing here has to be defaulted again.

import type { Agent } from '../agents/agent.ts';
import type { AgentBudget } from '../agents/model-runtime.ts';

export interface FleetMember {
  readonly name: string;
  /** The Agent of that name, or one that is written in the fleet. */
  readonly agent: string | Agent;
  readonly description: string | undefined;
  /** In whole thousandths. */
  readonly weight: number;
  readonly isManager: boolean;
  /** From 1. */
  readonly tier: number;
}

export interface Consensus {
  /** Of the answers' `output_schema`. */
  readonly field: string;
  readonly algorithm: 'majority' | 'unanimous' | 'weighted';
  readonly min_votes: number;
  /** What becomes of a vote without a result: the fleet fails, or that member decides. */
  readonly on_none: 'fail' | { readonly agent: string };
}

export type Coordination =
  | { readonly mode: 'pipeline' }
  | { readonly mode: 'hierarchical' }
  | { readonly mode: 'peer' | 'tiered'; readonly by: Consensus | 'merge' | 'manager' };

export interface Fleet {
  readonly name: string;
  /** Absolute. */
  readonly file: string;
  /** Changes with whatever the fleet is. */
  readonly hash: string;
  readonly description: string | undefined;
  readonly members: readonly FleetMember[];
  readonly coordination: Coordination;
  /** What becomes of it where a member fails that is no voter: it fails, or goes on without. */
  readonly on_failure: 'fail' | 'skip';
  /** Of all members together. */
  readonly budget: AgentBudget;
  /** Of work; waiting for people does not count. */
  readonly timeout_seconds: number;
  /** Members at work at a time. */
  readonly concurrency: number;
  /** As written, with `${VAR}` unresolved: what a run goes on by. */
  readonly definition: string;
}
