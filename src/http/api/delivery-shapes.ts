// JSON of deliveries: GET /deliveries and GET /deliveries/:id. Types only, shared by the API, the command line and the
// inspector's page, which is checked without the types of Node. Times are ISO 8601.

import type { DeliveryState } from '../../../actors/store/delivery.ts';

export interface DeliveryRecord {
  readonly id: string;
  readonly seq: number;
  readonly kind: string;
  readonly state: DeliveryState;
  readonly trigger: string | null;
  /** Key of its mailbox. */
  readonly conversation: string;
  readonly attempts: number;
  /** Attempts that ended with the gateway. */
  readonly crashes: number;
  readonly deferrals: number;
  readonly received_at: string;
  /** Begin of the last attempt; a claim that was given back is none. */
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly next_attempt_at: string | null;
  readonly waiting_for: string | null;
  readonly until: string | null;
  /** Of the last attempt. */
  readonly duration_seconds: number | null;
  /** From the acceptance to the end. */
  readonly total_seconds: number | null;
  readonly trace: string;
  readonly note: string | null;
}

/** The newest first. */
export interface DeliveryList {
  readonly deliveries: readonly DeliveryRecord[];
  /** For `before`; null at the end. */
  readonly next_before: number | null;
}

export interface FailureRecord {
  readonly attempt: number;
  readonly at: string;
  readonly note: string;
}

export interface DeliveryDetails extends DeliveryRecord {
  /** Its sender. */
  readonly principal: string | null;
  readonly answer: string | null;
  readonly receipt: string | null;
  /** True if GET /runs/:id has its journal. */
  readonly has_run: boolean;
  readonly failures: readonly FailureRecord[];
  readonly body: DeliveryBody;
}

export interface DeliveryBody {
  readonly bytes: number;
  readonly text?: string;
  /** Of a body that is no text; not in the brief view. */
  readonly base64?: string;
  /** The text, or the Base64, is only the beginning. */
  readonly is_cut: boolean;
}
