// JSON of approvals: GET /approvals and GET /approvals/:id. Types only, shared by the API, the command line and the
// inspector's page, which is checked without the types of Node. Times are ISO 8601.

import type { ApprovalState } from '../../../actors/store/approval.ts';

export interface ApprovalRecord {
  readonly id: string;
  readonly state: ApprovalState;
  readonly run: string;
  readonly trigger: string | null;
  readonly agent: string;
  readonly kind: 'command' | 'tool' | 'node';
  readonly title: string;
  /** Of these three the one that is to be approved; none in the brief view. */
  readonly command: {
    readonly name: string;
    readonly parameters: Readonly<Record<string, string>>;
    readonly input: string;
  } | null;
  readonly tool: { readonly server: string; readonly tool: string; readonly arguments: unknown } | null;
  readonly node: { readonly flow: string; readonly id: string; readonly message: string } | null;
  /** In the brief view: what is to be approved, as JSON with escapes for all that cannot be seen. */
  readonly request?: { readonly text: string; readonly is_cut: boolean };
  readonly digest: string;
  readonly requested_by: {
    readonly platform: string;
    readonly account: string | null;
    readonly user: string;
    readonly aliases: readonly string[];
  } | null;
  /** Empty: anyone in the channel; without a channel, operators only. */
  readonly approvers: readonly string[];
  readonly approval_channel: string | null;
  readonly self_approval: boolean;
  readonly requested_at: string;
  readonly expires_at: string | null;
  readonly decided_at: string | null;
  readonly decided_by: string | null;
  readonly decided_name: string | null;
  readonly via: 'api' | 'chat' | 'inspector' | 'timer' | null;
  readonly operator: string | null;
  readonly comment: string | null;
}

/** The newest first. */
export interface ApprovalList {
  readonly approvals: readonly ApprovalRecord[];
  /** For `before`; null at the end. */
  readonly next_before: string | null;
}
