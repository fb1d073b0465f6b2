// Types of the JSON of `GET /deliveries` and `GET /deliveries/:id`, for API, CLI and inspector (see
// server-shapes.ts).

import type { DeliveryState } from '../../../actors/store/delivery.ts';

export interface DeliveryRecord {
  readonly id: string;
  readonly seq: number;
  readonly kind: string;
  readonly state: DeliveryState;
  readonly trigger: string | null;
  /** Key of the mailbox, which contains platform and chat. */
  readonly conversation: string;
  readonly attempts: number;
  /** Number of attempts during which the gateway crashed. */
  readonly crashes: number;
  readonly deferrals: number;
  readonly received_at: string;
  /** Start of the last attempt. */
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly next_attempt_at: string | null;
  /** Signal that a waiting delivery needs to continue. */
  readonly waiting_for: string | null;
  /** Time at which the wait times out. */
  readonly until: string | null;
  /** Duration of the last attempt. */
  readonly duration_seconds: number | null;
  /** Time from the acceptance to the final state. */
  readonly total_seconds: number | null;
  readonly trace: string;
  readonly note: string | null;
}

/** Newest deliveries first. */
export interface DeliveryList {
  readonly deliveries: readonly DeliveryRecord[];
  /** Value of `before` for the next page; null on the last page. */
  readonly next_before: number | null;
}

export interface FailureRecord {
  readonly attempt: number;
  readonly at: string;
  readonly note: string;
}

export interface DeliveryDetails extends DeliveryRecord {
  /** Identified sender of the event. */
  readonly principal: string | null;
  readonly answer: string | null;
  /** Id of a sent message, assigned by the platform. */
  readonly receipt: string | null;
  /** True if GET /runs/:id returns a run. */
  readonly has_run: boolean;
  readonly failures: readonly FailureRecord[];
  readonly body: DeliveryBody;
}

export interface DeliveryBody {
  readonly bytes: number;
  readonly text?: string;
  /** Binary body; absent in the brief view (record-view.ts). */
  readonly base64?: string;
  /** True if `text` or `base64` is incomplete. */
  readonly is_cut: boolean;
}
