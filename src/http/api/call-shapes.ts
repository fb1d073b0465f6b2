// Types of the JSON of `GET /history/calls`, for API, CLI and inspector (see server-shapes.ts).

import type { RecordedOutcome } from '../../../actors/history/call-record.ts';

export interface CallRecord {
  /** Sequence number, for `before`. */
  readonly n: number;
  /** Time of the end. */
  readonly at: string;
  readonly ms: number;
  /** Null if no server was selected. */
  readonly server: string | null;
  /** Name at the server; null for other methods than `tools/call`. */
  readonly tool: string | null;
  readonly method: string;
  readonly outcome: RecordedOutcome;
  /** Size of the response. */
  readonly bytes: number;
  readonly client: string | null;
  readonly session: string | null;
  /** Set for failed and slow calls only, like `trace` and `code`. */
  readonly request_id: string | null;
  readonly trace: string | null;
  readonly code: string | null;
}

export interface CallList {
  readonly calls: readonly CallRecord[];
  /** Value of `before` for the next page; null after the last. */
  readonly next_before: number | null;
}
