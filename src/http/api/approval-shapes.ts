// Types of the JSON of `GET /approvals` and `GET /approvals/:id`, for API, CLI and inspector (see
// server-shapes.ts).

import type { ApprovalState } from '../../../actors/store/approval.ts';

export interface ApprovalRecord {
  readonly id: string;
  readonly state: ApprovalState;
  readonly run: string;
  readonly trigger: string | null;
  readonly agent: string;
  readonly kind: 'command' | 'tool' | 'node';
  readonly title: string;
  /** Exactly one of `command`, `tool` and `node` is set; all are null in the brief view. */
  readonly command: {
    readonly name: string;
    readonly parameters: Readonly<Record<string, string>>;
    readonly input: string;
  } | null;
  readonly tool: { readonly server: string; readonly tool: string; readonly arguments: unknown } | null;
  readonly node: { readonly flow: string; readonly id: string; readonly message: string } | null;
  /** Only in the brief view: the request as JSON text, with invisible characters escaped. */
  readonly request?: { readonly text: string; readonly is_cut: boolean };
  readonly digest: string;
  readonly requested_by: {
    readonly platform: string;
    readonly account: string | null;
    readonly user: string;
    readonly aliases: readonly string[];
  } | null;
  /** If empty, anyone in the channel may decide; without a channel, only operators. */
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

/** Newest approvals first. */
export interface ApprovalList {
  readonly approvals: readonly ApprovalRecord[];
  /** Value of `before` for the next page; null on the last page. */
  readonly next_before: string | null;
}
