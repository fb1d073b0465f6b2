// The type of a fleet (several agents that work on one event) after validation, including defaults.

import type { Agent } from '../agents/agent.ts';
import type { AgentBudget } from '../agents/model-runtime.ts';

export interface FleetMember {
  readonly name: string;
  /** Name of an agent, or an agent that is defined in the fleet's file. */
  readonly agent: string | Agent;
  /** Description for a manager, who leads the other members. */
  readonly description: string | undefined;
  /** Weight of the vote in thousandths, so that sums are exact. */
  readonly weight: number;
  readonly isManager: boolean;
  /** Group in mode `tiered`, from 1. The groups run one after another. */
  readonly tier: number;
}

/** Vote of the members on one field of their answers. */
export interface Consensus {
  /** Field of the answers' `output_schema`. */
  readonly field: string;
  /** Required votes: more than half of the members, all members, or more than half of the total weight. */
  readonly algorithm: 'majority' | 'unanimous' | 'weighted';
  /** Minimum number of votes (quorum). */
  readonly min_votes: number;
  /** Fallback for votes with no result: the fleet fails, or the member with this name decides. */
  readonly on_none: 'fail' | { readonly agent: string };
}

/**
 * Execution of the members: one after another (`pipeline`), as tools of a manager (`hierarchical`), all in
 * parallel (`peer`), or in parallel within each group (`tiered`). `by` combines the answers: a vote, all
 * answers by member name (`merge`), or the manager's answer.
 */
export type Coordination =
  | { readonly mode: 'pipeline' }
  | { readonly mode: 'hierarchical' }
  | { readonly mode: 'peer' | 'tiered'; readonly by: Consensus | 'merge' | 'manager' };

export interface Fleet {
  readonly name: string;
  /** Absolute path of the fleet's file. */
  readonly file: string;
  /** Hash of the content, to detect changes at a reload. */
  readonly hash: string;
  readonly description: string | undefined;
  readonly members: readonly FleetMember[];
  readonly coordination: Coordination;
  /** Effect of a failed member, if there is no vote: the fleet fails, or the member is skipped. */
  readonly on_failure: 'fail' | 'skip';
  /** Budget of tokens and cost for all members together. */
  readonly budget: AgentBudget;
  /** Maximum working time, without the time spent waiting for people. */
  readonly timeout_seconds: number;
  /** Maximum concurrent members. */
  readonly concurrency: number;
  /** `spec` as JSON text with unresolved `${VAR}`. Started runs use it, even if the file changes. */
  readonly definition: string;
}
