// Types of the JSON of `GET /runs` and `GET /runs/:id`, for API, CLI and inspector (see server-shapes.ts).

import type { MemberState, RunState } from '../../../actors/agents/runs/state.ts';
import type { StepView } from '../../../actors/agents/runs/step-shape.ts';
import type { RunNote } from '../../../actors/store/run.ts';
import type { NodeState } from '../../../machines/flow-run/graph-state.ts';
import type { DeliveryRecord, FailureRecord } from './delivery-shapes.ts';

/** Members that runs have in common with their deliveries. */
type OfDelivery =
  | ('id' | 'seq' | 'trigger' | 'conversation' | 'attempts' | 'until' | 'trace' | 'note')
  | ('received_at' | 'started_at' | 'ended_at' | 'next_attempt_at');

export interface RunRecord extends Pick<DeliveryRecord, OfDelivery> {
  readonly kind: RunNote['kind'];
  readonly name: string;
  readonly state: RunState;
  readonly waiting_for: 'approval' | 'timer' | null;
  readonly session: string | null;
  readonly steps_count: number;
  /** Null if the run has no journal. */
  readonly usage: RunUsage | null;
}

export interface RunUsage {
  /** Last used model, as PROVIDER:MODEL. */
  readonly model: string | null;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null if the model has no price. */
  readonly cost: number | null;
  readonly worked_ms: number;
}

/** Newest runs first. */
export interface RunList {
  readonly runs: readonly RunRecord[];
  /** Value of `before` for the next page; null on the last page. */
  readonly next_before: number | null;
}

/** JSON of POST /agents/:name/runs and of the event `end`. */
export interface RunResultRecord extends RunRecord {
  readonly answer: string | null;
  /** Null in the brief view. */
  readonly data: unknown;
}

export interface RunDetails extends RunResultRecord {
  /** Only in flows. */
  readonly nodes?: readonly NodeRecord[];
  /** Members of the fleet, or all fleet members in the flow. */
  readonly members?: readonly MemberRecord[];
  readonly failures: readonly FailureRecord[];
  readonly steps: readonly (StepRecord | RawStepRecord)[];
  /** Value of `after` for the next page; null on the last page. */
  readonly next_after: number | null;
}

/** Step in the journal. Its kind determines which members are set. */
export interface StepRecord extends Omit<StepView, 'at' | 'tookMs' | 'until' | 'waitingFor'> {
  readonly at: string;
  readonly took_ms?: number;
  readonly until?: string;
  /** A pause is `time` in the journal, and `timer` in RunRecord. */
  readonly waiting_for?: 'approval' | 'slot' | 'time';
}

/** Stored row of the journal, for `?raw=true`. */
export interface RawStepRecord {
  readonly n: number;
  readonly at: string;
  readonly row: unknown;
}

/** Progress of a flow node or a fleet member. */
interface PartRecord {
  /** Reason of the last failure or skip. */
  readonly why: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Includes the time in which the part waited. */
  readonly took_ms: number | null;
  /** Beginning of the output. */
  readonly output: string | null;
}

export interface NodeRecord extends PartRecord {
  /** Path with the turn of each loop: `poll#3/check`. */
  readonly path: string;
  /** Path without turns: `poll/check`. */
  readonly place: string;
  readonly id: string;
  readonly type: string;
  readonly state: NodeState;
  /** Current loop turn. */
  readonly turn: number | null;
  readonly attempts: number;
  /** End of the wait. */
  readonly until: string | null;
  /** True if the node waits for approval. */
  readonly for_people: boolean;
  /** Beginning of a loop's list, or of the request to an agent or fleet. */
  readonly input: string | null;
  /** Approval id, for type Approval. */
  readonly approval: string | null;
  /** Target nodes of the connections that the run followed; null if the node is unfinished. */
  readonly taken: readonly string[] | null;
}

export interface MemberRecord extends PartRecord {
  /** Name of the member; in a flow, the node and the member: `review/security`. */
  readonly path: string;
  readonly name: string;
  readonly state: MemberState;
  /** Vote as JSON text. */
  readonly vote: string | null;
}
