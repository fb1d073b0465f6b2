// What goes from the gateway to a page that watches one run, for both ends: records of the API, as they change. Types only.

import type { MemberRecord, NodeRecord, RunDetails, StepRecord } from '../../http/api/run-shapes.ts';
import type { FleetPlan, GraphRecord } from '../../http/api/target-shapes.ts';

export type RunMessage =
  | {
      readonly kind: 'run';
      readonly data: {
        /** Without steps, nodes and members: those come by themselves. */
        readonly run: RunDetails;
        /** The steps that were told before are those of a run that was given up for this one. */
        readonly is_anew: boolean;
      };
    }
  /** In order, each once. */
  | { readonly kind: 'steps'; readonly data: { readonly steps: readonly StepRecord[] } }
  /** What a run of a flow or a fleet goes on by; before anything of its nodes or members. */
  | { readonly kind: 'plan'; readonly data: RunPlan }
  /** Of nodes and members those that are new or not as they were. */
  | {
      readonly kind: 'parts';
      readonly data: { readonly nodes: readonly NodeRecord[]; readonly members: readonly MemberRecord[] };
    }
  /** The text that is being written, as far as it has come; '' where there is none, or a step has it. */
  | { readonly kind: 'text'; readonly data: { readonly text: string } };

export interface RunPlan {
  /** What the run was asked. */
  readonly input: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
  /** Of a flow; null for a fleet, and where it cannot be read. */
  readonly flow: GraphRecord | null;
  readonly fleet: FleetPlan | null;
}
