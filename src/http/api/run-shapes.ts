// JSON of runs: GET /runs, GET /runs/:id and its events. Types only, shared by the API, the command line and the
// inspector's page, which is checked without the types of Node. Times are ISO 8601.

import type { MemberState, RunState } from '../../../actors/agents/runs/run-state.ts';
import type { ShownStep } from '../../../actors/agents/runs/step-for-people.ts';
import type { RunNote } from '../../../actors/store/run.ts';
import type { NodeState } from '../../../machines/flow-run/graph-state.ts';
import type { DeliveryRecord, FailureRecord } from './delivery-shapes.ts';

/** Fields that a run, which is a delivery with a journal, has of its delivery. */
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
  /** PROVIDER:MODEL of the last answer. */
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

/** POST /agents/:name/runs, and the last event of a run. */
export interface RunAnswer extends RunRecord {
  readonly answer: string | null;
  /** Null in the brief view. */
  readonly data: unknown;
}

export interface RunDetails extends RunAnswer {
  /** Of a flow. */
  readonly nodes?: readonly NodeRecord[];
  /** Of a fleet, or of the fleets in a flow. */
  readonly members?: readonly MemberRecord[];
  readonly failures: readonly FailureRecord[];
  readonly steps: readonly (StepRecord | RawStepRecord)[];
  /** For `after`; null at the end. */
  readonly next_after: number | null;
}

/** A step has the members of its kind. */
export interface StepRecord extends Omit<ShownStep, 'at' | 'tookMs' | 'until' | 'waitingFor'> {
  readonly at: string;
  readonly took_ms?: number;
  readonly until?: string;
  readonly waiting_for?: 'approval' | 'time';
}

/** A row as it is stored. */
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
  /** Waits included. */
  readonly took_ms: number | null;
  /** The beginning of what it gave. */
  readonly output: string | null;
}

export interface NodeRecord extends PartRecord {
  /** With the turns of loops: `poll#3/check`. */
  readonly path: string;
  /** Without them: `poll/check`. */
  readonly place: string;
  readonly id: string;
  readonly type: string;
  readonly state: NodeState;
  /** Turn of a loop. */
  readonly turn: number | null;
  readonly attempts: number;
  readonly until: string | null;
  readonly for_people: boolean;
  /** The beginning of what an agent or a fleet was asked, or of the list of a loop. */
  readonly input: string | null;
  /** Id of the approval of a node of type Approval. */
  readonly approval: string | null;
  /** Nodes to which the taken connections lead; null before its end. */
  readonly taken: readonly string[] | null;
}

export interface MemberRecord extends PartRecord {
  /** `security`; in a flow after the path of the node, `review/security`. */
  readonly path: string;
  readonly name: string;
  readonly state: MemberState;
  /** JSON text of its vote. */
  readonly vote: string | null;
}
