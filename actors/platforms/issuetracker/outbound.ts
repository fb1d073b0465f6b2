// Sends answers as comments on issues. Each comment has an invisible property, which identifies it as the
// gateway's, and by which the comment of an earlier attempt is found.
//
// If an earlier attempt began, the comment is searched for before the post. That attempt may have posted the
// comment and stopped before the receipt was stored. This includes attempts that do not count, such as
// deferred attempts. Comments never mention people: mentions are nodes of the document format, which the
// gateway never creates.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { withCardText } from '../../events/outbox/card-text.ts';
import { conversationParts } from '../../events/outbox/conversation-name.ts';
import { DeliveryError, UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { OutboundMessage, OutboundTarget } from '../../events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import { Pacing } from '../../events/outbox/pacing.ts';
import { MAX_PARTS } from '../../events/outbox/split-text.ts';
import type { TrackerAccess } from './access.ts';
import { commentDocuments, MAX_COMMENT } from './document/comment-documents.ts';
import type { TrackerDocument } from './document/nodes.ts';
import { ISSUE_LIMIT } from './errors.ts';
import { trackerAccount } from './event.ts';
import { findComment } from './find-comment.ts';
import { commentMark } from './own-comments.ts';

const ISSUE = /^[A-Z][A-Z0-9_]{0,254}-\d{1,18}$/;
const ACCOUNT_EVERY_MS = 100;
const ACCOUNT_BURST = 5;
/** Rate limit per issue: half of the vendor's limit, because all programs that write to an issue share it. */
const ISSUE_PACE = { everyMs: 1_000, burst: 5 };
/**
 * Maximum number of rendered comments. Above MAX_PARTS, so that the core can report how much too long a text
 * is.
 */
const MAX_RENDERED = 4 * MAX_PARTS;

/** A comment in an outbox row. */
interface IssueComment {
  readonly issue: string;
  readonly body: TrackerDocument;
  /** Outbox row of the comment to edit. If its receipt is missing, a new comment is posted. */
  readonly of?: string;
}

/** `accessOf` and `credentialNameOf` return undefined for a trigger that has no credentials. */
export function issueTrackerOutbound(
  accessOf: (trigger: IssueTrackerTrigger) => TrackerAccess | undefined,
  credentialNameOf: (trigger: IssueTrackerTrigger) => string | undefined,
): Outbound<IssueTrackerTrigger, IssueComment> {
  const pacing = new Pacing({
    accountEveryMs: ACCOUNT_EVERY_MS,
    accountBurst: ACCOUNT_BURST,
    destination: ISSUE_PACE,
  });
  const credentialOf = (trigger: IssueTrackerTrigger) => credentialNameOf(trigger) ?? '';
  return {
    target: (trigger, inbound) => (accessOf(trigger) === undefined ? undefined : target(inbound)),
    async destination(trigger, conversation) {
      const account = { platform: 'issuetracker', account: trackerAccount(trigger) };
      const [issue = '', ...rest] = conversationParts(account, conversation) ?? [];
      const isValid = accessOf(trigger) !== undefined && ISSUE.test(issue) && rest.length === 0;
      return isValid ? { place: issue } : undefined;
    },
    render: (_, message) => renderComments(message),
    limits: (trigger) => ({
      text: { most: MAX_COMMENT, unit: 'utf16' },
      ...pacing.currentLimits(credentialOf(trigger), { issue: ISSUE_PACE }),
    }),
    addressOf: ({ config }) => config.base_url,
    credentialNameOf,
    async send(trigger, comment, context) {
      const access = accessOf(trigger);
      if (access === undefined)
        throw new DeliveryError(`trigger ${trigger.name} no longer has a token`, { isFinal: true });
      const slot = { account: credentialOf(trigger), destination: comment.issue, isOfDestination };
      return pacing.run(slot, () => sendComment(access, comment, context));
    },
  };
}

/** Targets the issue; undefined for events that have no issue, and for deleted issues. */
function target({ names, context }: InboundEvent): OutboundTarget | undefined {
  const { 'issue.key': issue } = context;
  if (typeof issue !== 'string' || names.includes('tracker:issue_deleted')) return undefined;
  return { place: issue };
}

function renderComments({
  target: { place: issue },
  action,
  text,
  card,
}: OutboundMessage): readonly IssueComment[] {
  if (action.do === 'react')
    throw new UnrenderableError(`a comment on ${issue} can be posted and edited, not reacted to`);
  return commentDocuments(withCardText(text, card), MAX_RENDERED).map((body, i) => ({
    issue,
    body,
    ...(action.do === 'edit' && i === 0 && { of: action.of }),
  }));
}

async function sendComment(
  access: TrackerAccess,
  { issue, body, of: editedRowId }: IssueComment,
  context: SendContext,
): Promise<SendReceipt> {
  const { rowId, createdAt, wasTried, signal } = context;
  const posted = editedRowId === undefined ? undefined : await context.receiptOf(editedRowId);
  if (posted !== undefined) return changeComment(access, { issue, body }, posted, signal);
  const property = commentMark(rowId);
  const query = { issue, body, property, madeAt: createdAt };
  const existing = wasTried ? await findComment(access.api, query, signal) : 'absent';
  if (typeof existing === 'object') return existing;
  const id = await access.comments.write(issue, async () => {
    const comment = await access.api.post(issue, body, [property], signal);
    access.own.note(comment.author);
    return comment.id;
  });
  return existing === 'unknown' ? { id, note: MAY_BE_TWICE } : { id };
}

const MAY_BE_TWICE = 'possible duplicate: the issue has too many new comments to search';

async function changeComment(
  { api }: TrackerAccess,
  { issue, body }: IssueComment,
  { id }: SendReceipt,
  signal: AbortSignal,
): Promise<SendReceipt> {
  try {
    await api.change(issue, id, body, signal);
    return { id };
  } catch (error) {
    const fault = error as DeliveryError;
    if (fault.platformCode !== 404 && fault.platformCode !== 410) throw fault;
    throw fault.with({ isFinal: true, isRateLimited: false, isTargetMissing: true });
  }
}

const isOfDestination = ({ platformCode }: DeliveryError): boolean => platformCode === ISSUE_LIMIT;
