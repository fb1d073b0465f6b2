// JSON of `GET /runs` and `GET /runs/:id`. Types for API, CLI and inspector (server-shapes.ts).

import type { MemberState, RunState } from '../../../actors/agents/runs/run-state.ts';
import type { ShownStep } from '../../../actors/agents/runs/step-for-people.ts';
import type { RunNote } from '../../../actors/store/run.ts';
import type { NodeState } from '../../../machines/flow-run/graph-state.ts';
import type { DeliveryRecord, FailureRecord } from './delivery-shapes.ts';

/** Fields from the delivery record. */
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
  /** Null without a journal. */
  readonly usage: RunUsage | null;
}

export interface RunUsage {
  /** Last PROVIDER:MODEL. */
  readonly model: string | null;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null without a price. */
  readonly cost: number | null;
  readonly worked_ms: number;
}

/** The newest first. */
export interface RunList {
  readonly runs: readonly RunRecord[];
  /** For `before`; null at the end. */
  readonly next_before: number | null;
}

/** POST /agents/:name/runs and the event `end`. */
export interface RunAnswer extends RunRecord {
  readonly answer: string | null;
  /** Null in the brief view. */
  readonly data: unknown;
}

export interface RunDetails extends RunAnswer {
  /** Only in flows. */
  readonly nodes?: readonly NodeRecord[];
  /** Members of the fleet, or of fleets in the flow. */
  readonly members?: readonly MemberRecord[];
  readonly failures: readonly FailureRecord[];
  readonly steps: readonly (StepRecord | RawStepRecord)[];
  /** For `after`; null at the end. */
  readonly next_after: number | null;
}

/** The kind decides which fields a step has. */
export interface StepRecord extends Omit<ShownStep, 'at' | 'tookMs' | 'until' | 'waitingFor'> {
  readonly at: string;
  readonly took_ms?: number;
  readonly until?: string;
  readonly waiting_for?: 'approval' | 'time';
}

/** Stored row, with `?raw=true`. */
export interface RawStepRecord {
  readonly n: number;
  readonly at: string;
  readonly row: unknown;
}

/** Progress of a node or a member. */
interface PartRecord {
  readonly why: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Including waits. */
  readonly took_ms: number | null;
  /** Beginning of the output. */
  readonly output: string | null;
}

export interface NodeRecord extends PartRecord {
  /** Path with loop turns: `poll#3/check`. */
  readonly path: string;
  /** Path without turns: `poll/check`. */
  readonly place: string;
  readonly id: string;
  readonly type: string;
  readonly state: NodeState;
  /** Current loop turn. */
  readonly turn: number | null;
  readonly attempts: number;
  readonly until: string | null;
  readonly for_people: boolean;
  /** Beginning of the request to an agent or fleet, or of a loop's list. */
  readonly input: string | null;
  /** Approval id, for type Approval. */
  readonly approval: string | null;
  /** Targets of the taken connections; null while unfinished. */
  readonly taken: readonly string[] | null;
}

export interface MemberRecord extends PartRecord {
  /** `security`, or below a node `review/security`. */
  readonly path: string;
  readonly name: string;
  readonly state: MemberState;
  /** Vote as JSON text. */
  readonly vote: string | null;
}
