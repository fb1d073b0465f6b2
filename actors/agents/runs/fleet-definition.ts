// Parses members and coordination from a fleet's definition text, for views. Variables are not evaluated, so
// the definition in the journal of any run can be parsed, even after the file has changed.

import { membersOf } from './flow-definition.ts';
import { plainRow } from './step-view.ts';

export interface DefinedFleet {
  /** `pipeline`, `peer`, `hierarchical` or `tiered`. */
  readonly mode: string;
  /** Undefined if the fleet does not vote. */
  readonly vote:
    | { readonly field: string; readonly algorithm: string; readonly minVotes: number }
    | undefined;
  /** `merge` or `manager`. */
  readonly aggregation: string | undefined;
  readonly members: readonly {
    readonly name: string;
    /** Undefined for inline agents. */
    readonly agent: string | undefined;
    readonly weight: number;
    readonly isManager: boolean;
    readonly tier: number;
  }[];
}

/** Parses `Fleet.definition`. Invalid text yields an empty fleet. */
export function parseFleetDefinition(definition: string): DefinedFleet {
  // `agents` is an alias of `members`.
  const { coordination, agents, members = agents } = plainRow(definition);
  const { mode, consensus, aggregation } = membersOf(coordination);
  const { field, algorithm = 'majority', min_votes } = membersOf(consensus);
  return {
    mode: String(mode ?? ''),
    vote:
      typeof field === 'string'
        ? { field, algorithm: String(algorithm), minVotes: numberIn(min_votes) }
        : undefined,
    aggregation: typeof aggregation === 'string' ? aggregation : undefined,
    members: (Array.isArray(members) ? members : []).flatMap((each: unknown) => {
      // `agent` is an alias of `ref`, and `spec` defines an inline agent. Without them, the member has the
      // agent's name.
      const { name, agent, ref = agent, spec, weight, role, tier } = membersOf(each);
      if (typeof name !== 'string') return [];
      const agentName = typeof ref === 'string' ? ref : spec === undefined ? name : undefined;
      const position = { isManager: role === 'manager', tier: numberIn(tier) };
      return [{ name, agent: agentName, weight: numberIn(weight), ...position }];
    }),
  };
}

/** Returns a number, 1 by default. */
const numberIn = (value: unknown): number => {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : 1;
};
