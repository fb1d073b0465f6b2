// Messages of GET /inspector/runs/ID/feed: API records of the run, the nodes of its flow and the members
// (agents) of its fleet, sent when they change. Types only.

import type { MemberRecord, NodeRecord, RunDetails, StepRecord } from '../../http/api/run-shapes.ts';
import type { FleetPlan, GraphRecord } from '../../http/api/target-shapes.ts';

export type RunMessage =
  | {
      readonly kind: 'run';
      readonly data: {
        /** Without steps, nodes and members, which are sent in separate messages. */
        readonly run: RunDetails;
        /** True if a new run replaced the previous one under this id; discard the earlier steps. */
        readonly is_anew: boolean;
      };
    }
  /** New steps, in order. */
  | { readonly kind: 'steps'; readonly data: { readonly steps: readonly StepRecord[] } }
  /** Definition of the flow or fleet; sent before any `parts`. */
  | { readonly kind: 'plan'; readonly data: RunPlan }
  /** New and changed nodes and members. */
  | {
      readonly kind: 'parts';
      readonly data: { readonly nodes: readonly NodeRecord[]; readonly members: readonly MemberRecord[] };
    }
  /** Unfinished answer text; '' before the first text and after the answer's step. */
  | { readonly kind: 'text'; readonly data: { readonly text: string } };

export interface RunPlan {
  /** Request. */
  readonly input: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
  /** Null for fleets and unreadable definitions. */
  readonly flow: GraphRecord | null;
  readonly fleet: FleetPlan | null;
}
