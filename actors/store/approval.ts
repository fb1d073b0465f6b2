// What the store keeps of an approval: who is asked what stands in its body, which only actors/agents/approvals/ reads. It is pending until
// the first decision, or until its run ends, and is kept as long as that.

import type { NewEvent } from './event.ts';

export type Decided = 'approved' | 'denied' | 'expired';

export type ApprovalState = 'pending' | 'cancelled' | Decided;

export interface NewApproval {
  /** Unique among all of the retention time. One that is known stays as it is, but one that was cancelled is pending anew. */
  readonly id: string;
  /** JSON text. */
  readonly body: string;
  /** Undefined: it never expires. Whoever asks sees to the expiry. */
  readonly expiresInMs?: number | undefined;
  /** Appended when it is cancelled since its event has ended, or runs again. */
  readonly onCancel?: readonly NewEvent[] | undefined;
}

/** Times are epoch ms. */
export interface StoredApproval {
  readonly id: string;
  /** The delivery that it is about. */
  readonly run: string;
  readonly key: string;
  readonly trigger: string | undefined;
  readonly state: ApprovalState;
  readonly askedAt: number;
  readonly expiresAt: number | undefined;
  readonly decidedAt: number | undefined;
  readonly body: string;
  /** JSON text of whoever decided; undefined while nobody has. */
  readonly decision: string | undefined;
}

export interface NewDecision {
  readonly state: Decided;
  /** JSON text, small. */
  readonly decision: string;
  /** What wakes the run, and what is said of it. Appended with the decision, whatever waits. */
  readonly emit: readonly NewEvent[];
}

export interface DecidedApproval {
  /** False: it was decided before, or cancelled, and nothing of this decision was taken. */
  readonly isFirst: boolean;
  readonly approval: StoredApproval;
}

export interface ApprovalFilter {
  readonly states?: readonly ApprovalState[];
  /** Of one delivery. */
  readonly run?: string;
  /** Asked before that time: where the page before ended. */
  readonly before?: { readonly askedAt: number; readonly id: string } | undefined;
  /** At most 1,000. */
  readonly limit: number;
}
