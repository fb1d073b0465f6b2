// Approvals in the store: decisions of persons for which a run waits. Only actors/agents/approvals/ reads the
// body. An approval is pending until it is decided or its run finishes, and is deleted together with the run.

import type { NewEvent } from './event.ts';

export type DecisionState = 'approved' | 'denied' | 'expired';

export type ApprovalState = 'pending' | 'cancelled' | DecisionState;

export interface NewApproval {
  /**
   * Unique within the retention time. If the id exists, a cancelled approval is reopened, and any other stays
   * unchanged.
   */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
  /** Undefined if it never expires. The store does not expire approvals: the caller adds a timer. */
  readonly expiresInMs?: number | undefined;
  /** Events to append if the approval is cancelled because its run finished or restarted. */
  readonly onCancel?: readonly NewEvent[] | undefined;
}

/** Times are epoch milliseconds. */
export interface StoredApproval {
  readonly id: string;
  /** Id of the delivery. */
  readonly run: string;
  readonly key: string;
  readonly trigger: string | undefined;
  readonly state: ApprovalState;
  readonly askedAt: number;
  readonly expiresAt: number | undefined;
  /**
   * Milliseconds between reading and expiry by the engine's clock, negative for an overdue approval;
   * undefined without expiry.
   */
  readonly expiresInMs: number | undefined;
  readonly decidedAt: number | undefined;
  readonly body: string;
  /** JSON text about the decision and its author; undefined if pending. */
  readonly decision: string | undefined;
}

export interface NewDecision {
  readonly state: DecisionState;
  /** Short JSON text. */
  readonly decision: string;
  /**
   * Events to append with the decision: the event that wakes the run, and notifications. They bypass the
   * capacity limit.
   */
  readonly emit: readonly NewEvent[];
}

export interface DecidedApproval {
  /** False if the approval was already decided or cancelled; the store ignored this decision. */
  readonly isFirst: boolean;
  readonly approval: StoredApproval;
}

export interface ApprovalFilter {
  readonly states?: readonly ApprovalState[];
  /** Delivery id. */
  readonly run?: string;
  /** Position of the last approval on the previous page; returns older approvals. */
  readonly before?: { readonly askedAt: number; readonly id: string } | undefined;
  /** At most 1,000. */
  readonly limit: number;
}
