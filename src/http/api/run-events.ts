// JSON of `GET /runs/:id/events`. Types for API and CLI. The events `run` and `state` contain a RunRecord, `part` a
// StepRecord, and `end` a RunAnswer.

import type { ApprovalRecord } from './approval-shapes.ts';

/** New text, or an addition to the last one. */
export type TextEvent =
  | { readonly delta: string }
  /** `part` names the agent inside the run. */
  | { readonly text: string; readonly part: string | undefined };

export interface ToolEvent {
  /** Calling node or member. */
  readonly part?: string | undefined;
  readonly call?: string | undefined;
  readonly name?: string | undefined;
  /** JSON text, cut. */
  readonly arguments?: string | undefined;
  /** `called`, `done`, `failed`, `interrupted`, `refused`. */
  readonly state: string;
  readonly result?: string | undefined;
  readonly took_ms?: number | undefined;
}

/** Pending approvals include the request. */
export interface ApprovalEvent extends Pick<ApprovalRecord, 'id'> {
  readonly state: string;
  readonly by?: string | undefined;
  readonly kind?: ApprovalRecord['kind'];
  readonly title?: string;
  readonly command?: NonNullable<ApprovalRecord['command']> | undefined;
  readonly tool?: NonNullable<ApprovalRecord['tool']> | undefined;
}

/** A failed step, with the delay before the retry. */
export interface RetryEvent {
  readonly reason: string;
  readonly in_ms: number;
}
