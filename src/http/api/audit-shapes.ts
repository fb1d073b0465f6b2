// Types of the JSON of `GET /audit`, for API, CLI and inspector (see server-shapes.ts).

/** A line of the audit. */
export interface AuditRecord {
  readonly time: string;
  readonly node: string;
  readonly tenant: string | null;
  readonly principal: string;
  readonly role: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly outcome: string;
  readonly status: number | null;
  readonly ms: number;
  readonly request_id: string | null;
  readonly trace_id: string | null;
  readonly count?: number;
  readonly arguments?: unknown;
  /** Number of the line and its hash. */
  readonly chain: string;
}

export interface AuditList {
  readonly lines: readonly AuditRecord[];
  /** Value of `before` for the next page; null after the last. A page with a filter may be empty. */
  readonly next_before: number | null;
}
