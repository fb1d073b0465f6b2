// JSON of the events of a run: GET /runs/:id/events. Types only, shared by the API and the command line. The events `run` and
// `state` have a RunRecord, `part` a StepRecord, and `end` a RunAnswer.

import type { ApprovalRecord } from './approval-shapes.ts';

/** A text that begins anew, or what is added to it. */
export type TextEvent =
  | { readonly delta: string }
  /** With `part` the answer of an agent within the run. */
  | { readonly text: string; readonly part: string | undefined };

export interface ToolEvent {
  /** Node or member that calls it. */
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

/** While it is pending, with its request. */
export interface ApprovalEvent extends Pick<ApprovalRecord, 'id'> {
  readonly state: string;
  readonly by?: string | undefined;
  readonly kind?: ApprovalRecord['kind'];
  readonly title?: string;
  readonly command?: NonNullable<ApprovalRecord['command']> | undefined;
  readonly tool?: NonNullable<ApprovalRecord['tool']> | undefined;
}

/** A step of an attempt has failed, and is tried again. */
export interface RetryEvent {
  readonly reason: string;
  readonly in_ms: number;
}
