// Types of the JSON of `GET /runs/:id/events`, for API and CLI. The events `run` and `state` contain a
// RunRecord, `part` a StepRecord, and `end` a RunResultRecord. All other events are declared here.

import type { ApprovalRecord } from './approval-shapes.ts';

/** `text` starts a new text; `delta` is an addition to it. */
export type TextEvent =
  | { readonly delta: string }
  /** `part`: the agent inside a fleet or flow. */
  | { readonly text: string; readonly part: string | undefined };

export interface ToolEvent {
  /** Node of the flow, or member of the fleet, that calls the tool. */
  readonly part?: string | undefined;
  readonly call?: string | undefined;
  readonly name?: string | undefined;
  /** JSON text, possibly cut. */
  readonly arguments?: string | undefined;
  /** One of `called`, `done`, `failed`, `interrupted` and `refused`. */
  readonly state: string;
  readonly result?: string | undefined;
  readonly took_ms?: number | undefined;
}

/** An approval has changed. The members after `by` are set only for a new approval. */
export interface ApprovalEvent extends Pick<ApprovalRecord, 'id'> {
  readonly state: string;
  readonly by?: string | undefined;
  readonly kind?: ApprovalRecord['kind'];
  readonly title?: string;
  readonly command?: NonNullable<ApprovalRecord['command']> | undefined;
  readonly tool?: NonNullable<ApprovalRecord['tool']> | undefined;
}

/** A step has failed and will be retried. */
export interface RetryEvent {
  readonly reason: string;
  readonly in_ms: number;
}
