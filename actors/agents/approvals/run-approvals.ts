// How a run asks people: what it wants to do, exactly, and what came of it. Who may decide, where they are asked and how they answer is
// the matter of the other files here.
//
// A run asks by parking under `approvalWake(event id)`, with the effects of all that it asks; each decision wakes it by that name, and
// it looks up what was decided. It decides itself that one has expired, by the same way as people: the first decision counts.

import type { ToolPolicy } from '../../../config/resources/agents/model-runtime.ts';
import type { Effects } from '../../events/inbox/work.ts';
import type { ApprovalState } from '../../store/approval.ts';

export interface ApprovalRequest {
  readonly kind: 'command' | 'tool' | 'node';
  /** Who wants it, where that is only a part of the run. */
  readonly agent?: string | undefined;
  /** A line for people: `/deploy staging`, `files/write_file`. */
  readonly title: string;
  /** What is approved is exactly this. `input` is all that was said with it. */
  readonly command?:
    | { readonly name: string; readonly parameters: Readonly<Record<string, string>>; readonly input: string }
    | undefined;
  readonly tool?: { readonly server: string; readonly tool: string; readonly arguments: unknown } | undefined;
  /** Of a flow: its text is all that people are asked. */
  readonly node?: { readonly flow: string; readonly id: string; readonly message: string } | undefined;
  readonly who: Pick<
    ToolPolicy,
    'approvers' | 'approval_channel' | 'approval_timeout_seconds' | 'self_approval'
  >;
}

export interface AskedApproval {
  readonly id: string;
  /** To be committed with the park: asked is only what is durable. */
  readonly effects: Pick<Effects, 'emit' | 'asks'>;
  /** Undefined: it never expires. */
  readonly expiresInMs: number | undefined;
  /** Who may decide, in words. */
  readonly whom: string;
}

export interface ApprovalOutcome {
  readonly state: ApprovalState;
  readonly by: string | undefined;
  readonly comment: string | undefined;
  /** Of a pending one, in milliseconds from now; undefined: it never expires. */
  readonly expiresInMs: number | undefined;
  /** For whom it was asked. */
  readonly agent: string;
  /** Of what was asked: `isExactly` (approval-record.ts) compares it with what is done. */
  readonly digest: string;
}

export interface RunApprovals {
  /**
   * The same request gives another id each time. Rejects with a HandlerError where nobody can be asked, with UnrenderableError, and
   * as the adapter does that knows the way to the channel.
   */
  ask(request: ApprovalRequest): Promise<AskedApproval>;
  /** How it stands; one whose time is over has expired from then on. Undefined for one that was never durable. */
  outcome(id: string): Promise<ApprovalOutcome | undefined>;
}

/** The name by which a run parks that waits for approvals. */
export const approvalWake = (eventId: string): string => `approval ${eventId}`;
