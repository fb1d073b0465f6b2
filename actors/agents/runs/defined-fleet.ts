// Reads members and coordination from the definition text of a fleet, for views. The text contains names of variables, not
// values, so the definition in the journal of any run can be read, even if the file has changed.

import { membersOf } from './defined-graph.ts';
import { plainRow } from './shown-step.ts';

export interface DefinedFleet {
  /** `pipeline`, `peer`, `hierarchical`, `tiered`. */
  readonly mode: string;
  /** Undefined without a vote. */
  readonly vote:
    | { readonly field: string; readonly algorithm: string; readonly minVotes: number }
    | undefined;
  /** `merge` or `manager`. */
  readonly aggregation: string | undefined;
  readonly members: readonly {
    readonly name: string;
    /** Undefined for an inline agent. */
    readonly agent: string | undefined;
    readonly weight: number;
    readonly isManager: boolean;
    readonly tier: number;
  }[];
}

/** Parses `Fleet.definition`. Invalid text yields an empty fleet. */
export function definedFleet(definition: string): DefinedFleet {
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
      const { name, agent, ref = agent, spec, weight, role, tier } = membersOf(each);
      if (typeof name !== 'string') return [];
      const asked = typeof ref === 'string' ? ref : spec === undefined ? name : undefined;
      const place = { isManager: role === 'manager', tier: numberIn(tier) };
      return [{ name, agent: asked, weight: numberIn(weight), ...place }];
    }),
  };
}

/** Returns a number, 1 by default. */
const numberIn = (value: unknown): number => {
  const read = typeof value === 'string' ? Number(value) : value;
  return typeof read === 'number' && Number.isFinite(read) ? read : 1;
};
