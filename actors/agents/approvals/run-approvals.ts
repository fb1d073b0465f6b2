// Interface for runs that need approvals. A run that requests approvals returns a `Parked` result
// (parked.ts): it is suspended, with `approvalWake(event id)` as the `parkedOn` name. The requests are
// committed with that result. Each decision wakes the run, which then reads the outcomes. The run also
// expires overdue approvals; the first decision counts.

import type { ToolPolicy } from '../../../config/resources/agents/model-runtime.ts';
import type { Effects } from '../../events/inbox/work.ts';
import type { ApprovalState } from '../../store/approval.ts';

export interface ApprovalRequest {
  readonly kind: 'command' | 'tool' | 'node';
  /** Requesting agent, if it is a part of the run. */
  readonly agent?: string | undefined;
  /** One-line title: `/deploy staging`, `files/write_file`. */
  readonly title: string;
  /** Command to approve. `input` is the complete text of the message. */
  readonly command?:
    | { readonly name: string; readonly parameters: Readonly<Record<string, string>>; readonly input: string }
    | undefined;
  readonly tool?: { readonly server: string; readonly tool: string; readonly arguments: unknown } | undefined;
  /** For flows: the text shown to people. */
  readonly node?: { readonly flow: string; readonly id: string; readonly message: string } | undefined;
  readonly rules: Pick<
    ToolPolicy,
    'approvers' | 'approval_channel' | 'approval_timeout_seconds' | 'self_approval'
  >;
}

export interface CreatedRequest {
  readonly id: string;
  /** Must be committed with the `Parked` result of the run (parked.ts). */
  readonly effects: Pick<Effects, 'emit' | 'asks'>;
  /** Undefined: no expiry. */
  readonly expiresInMs: number | undefined;
  /** Description of the approvers. */
  readonly approverText: string;
}

export interface ApprovalOutcome {
  readonly state: ApprovalState;
  readonly by: string | undefined;
  readonly comment: string | undefined;
  /** Milliseconds before a pending approval expires, by the store's clock; undefined: no expiry. */
  readonly expiresInMs: number | undefined;
  /** Requesting agent. */
  readonly agent: string;
  /** Digest of the request, compared with the action by `isExactly` (record.ts). */
  readonly digest: string;
}

export interface RunApprovals {
  /**
   * Creates a request with a new id. Rejects with a HandlerError if no approver is available, with
   * UnrenderableError, and with errors of the adapter that resolves the channel.
   */
  ask(request: ApprovalRequest): Promise<CreatedRequest>;
  /** Returns the current outcome, and expires an overdue approval. Undefined for uncommitted ids. */
  outcome(id: string): Promise<ApprovalOutcome | undefined>;
}

/** Returns the `parkedOn` name for a run with pending approvals. */
export const approvalWake = (eventId: string): string => `approval ${eventId}`;
