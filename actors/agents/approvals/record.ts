// JSON records of approvals in the store: the request, its sender, the access rights, the message that shows
// it, and the decision. The format is on disk: members of released versions keep their meaning. An action
// runs only if its digest equals the approved digest.

import { createHash } from 'node:crypto';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { canonicalJson } from '../../../machines/canonical-json.ts';
import type { OutboundTarget } from '../../events/outbox/message.ts';
import type { StoredApproval } from '../../store/approval.ts';
import type { ApprovalRequest } from './run-approvals.ts';

/** A platform user. The same name on another platform is another person. */
export interface Person {
  readonly platform: string;
  /** Account of the gateway; undefined if the platform has no accounts. */
  readonly account?: string | undefined;
  readonly user: string;
  /** Further names that the platform verifies. */
  readonly aliases: readonly string[];
  /** True for a chat or channel in whose name an unknown person writes. */
  readonly isShared?: boolean | undefined;
}

/** Access rights from the files at request time. */
export interface ApprovalRights {
  /**
   * Names with or without @. If empty, everyone in the channel may approve; if `channel` is missing too, only
   * operators.
   */
  readonly approvers: readonly string[];
  /** Field `approval_channel`, as written in the file. */
  readonly channel?: string | undefined;
  readonly selfApproval: boolean;
  /** Place of the request message; decisions from other places are rejected. Undefined: no message. */
  readonly home?: { readonly platform: string; readonly account: string; readonly place: string } | undefined;
}

/** The message with the approval request. */
export interface ApprovalMessage {
  /** Id of the outbox row. */
  readonly row: string;
  readonly trigger: string;
  readonly target: OutboundTarget;
  /** Number of characters of the request in the message. */
  readonly shown: number;
}

export interface ApprovalBody extends Pick<ApprovalRequest, 'kind' | 'title' | 'command' | 'tool' | 'node'> {
  readonly digest: string;
  readonly trace: string;
  readonly requestedBy?: Person | undefined;
  /** Type of the trigger of the run. */
  readonly type: Trigger['type'];
  /** Name of the requesting agent, fleet or flow. */
  readonly agent: string;
  readonly rights: ApprovalRights;
  /** Message with the request; undefined if none was sent. */
  readonly question?: ApprovalMessage | undefined;
}

/** Way of the decision; `timer` for an expiry. */
export type Via = 'api' | 'chat' | 'inspector' | 'timer';

export interface DecisionBody {
  /**
   * Name of the person, from the platform or from the operator; `an operator` without a name; undefined if no
   * person decided.
   */
  readonly by?: string | undefined;
  /** Display name. */
  readonly name?: string | undefined;
  readonly via: Via;
  /** Principal of the operator who decided, in their own name or for `by`. */
  readonly operator?: string | undefined;
  readonly comment?: string | undefined;
}

export function bodyOf({ body }: Pick<StoredApproval, 'body'>): ApprovalBody {
  return JSON.parse(body) as ApprovalBody;
}

/** Returns undefined for undecided or cancelled approvals. */
export function decisionOf({ decision }: Pick<StoredApproval, 'decision'>): DecisionBody | undefined {
  return decision === undefined ? undefined : (JSON.parse(decision) as DecisionBody);
}

/** Returns true if the request has the digest of the approved request. */
export function isExactly(
  { digest }: { readonly digest: string },
  request: Parameters<typeof digestOf>[0],
): boolean {
  return digestOf(request) === digest;
}

/**
 * Returns the request's SHA-256 digest in hexadecimal digits. Throws RangeError if it has excessive nesting.
 */
export function digestOf({
  kind,
  command,
  tool,
  node,
}: Pick<ApprovalRequest, 'kind' | 'command' | 'tool' | 'node'>): string {
  return createHash('sha256').update(canonicalJson({ kind, command, tool, node })).digest('hex');
}
