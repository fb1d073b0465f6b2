// What is kept of an approval beside its state, as JSON in the store: what was asked, by whom, who may decide, and where people see
// it. And what was decided. What is released keeps its meaning: it stands in files on disk.
//
// APR1  what is approved is exactly what was shown: its digest is compared before anything is done by it.

import { createHash } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { canonicalJson } from '../../../machines/canonical-json.ts';
import type { OutboundTarget } from '../../events/outbox/outbound-message.ts';
import type { StoredApproval } from '../../store/approval.ts';
import type { ApprovalRequest } from './run-approvals.ts';

/** Somebody of a platform, as it calls them. The same name elsewhere is somebody else. */
export interface Person {
  readonly platform: string;
  /** Of ours; undefined where the platform has none. */
  readonly account?: string | undefined;
  readonly user: string;
  /** Names that it vouches for beside that. */
  readonly aliases: readonly string[];
}

/** By the files as they were when it was asked. */
export interface ApprovalRights {
  /** Names, with or without @; none: whoever is in the channel, and where there is none nobody in a chat. */
  readonly approvers: readonly string[];
  /** As it is written in the file. */
  readonly channel?: string | undefined;
  readonly selfApproval: boolean;
  /** Where people are asked: a decision from anywhere else is nobody's. Undefined: nobody can be asked. */
  readonly home?: { readonly platform: string; readonly account: string; readonly place: string } | undefined;
}

/** The message by which people are asked. */
export interface Question {
  /** Of the outbox. */
  readonly row: string;
  readonly trigger: string;
  readonly target: OutboundTarget;
  /** Characters of what is to be approved that it shows. */
  readonly shown: number;
}

export interface ApprovalBody extends Pick<ApprovalRequest, 'kind' | 'title' | 'command' | 'tool' | 'node'> {
  readonly digest: string;
  readonly trace: string;
  readonly requestedBy?: Person | undefined;
  /** Of the trigger that the run comes from. */
  readonly type: Trigger['type'];
  readonly agent: string;
  readonly rights: ApprovalRights;
  readonly question?: Question | undefined;
}

export type Via = 'api' | 'chat' | 'inspector' | 'timer';

export interface DecisionBody {
  /** Whoever decided, as their platform or an operator calls them; `an operator` where there is no name; undefined: nobody did. */
  readonly by?: string | undefined;
  /** The same for people. */
  readonly name?: string | undefined;
  readonly via: Via;
  /** The principal of whoever decided as an operator, in their own name or that of `by`. */
  readonly operator?: string | undefined;
  readonly comment?: string | undefined;
}

export function bodyOf({ body }: Pick<StoredApproval, 'body'>): ApprovalBody {
  return JSON.parse(body) as ApprovalBody;
}

/** Undefined while nobody has decided, and for one that was cancelled. */
export function decisionOf({ decision }: Pick<StoredApproval, 'decision'>): DecisionBody | undefined {
  return decision === undefined ? undefined : (JSON.parse(decision) as DecisionBody);
}

/** Whether what is about to be done is what was asked (APR1). */
export function isExactly(
  { digest }: { readonly digest: string },
  request: Parameters<typeof digestOf>[0],
): boolean {
  return digestOf(request) === digest;
}

/** SHA-256 in hexadecimal digits of what is to be approved. Throws RangeError for what is nested too deeply to be written. */
export function digestOf({
  kind,
  command,
  tool,
  node,
}: Pick<ApprovalRequest, 'kind' | 'command' | 'tool' | 'node'>): string {
  return createHash('sha256').update(canonicalJson({ kind, command, tool, node })).digest('hex');
}
