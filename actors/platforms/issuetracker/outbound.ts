// Answers as comments on issues. Each has a property that people do not see, by which a second attempt finds what a first one may have
// written, and by which our own comments are known.
//
// TO1  where an attempt was begun before, it is looked first whether the comment is there already: that one may have written it and
//      have ended before it could say so, whether it counts as an attempt or not.
// TO2  nothing in a comment mentions anybody: the tracker's format has nodes for that, and none are made.

import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { withCardText } from '../../events/outbox/card-text.ts';
import { partsOfConversation } from '../../events/outbox/conversation-name.ts';
import { DeliveryError, UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import type { OutboundMessage, OutboundTarget } from '../../events/outbox/outbound-message.ts';
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
/** The vendor takes twice as much, of all who write to an issue together. */
const ISSUE_PACE = { everyMs: 1_000, burst: 5 };
/** So that the core sees how much too long a text is. */
const MOST_RENDERED = 4 * MAX_PARTS;

/** A comment, as a row of the outbox keeps it. */
interface IssueComment {
  readonly issue: string;
  readonly body: TrackerDocument;
  /** The row whose comment this is to stand in, if that has one. */
  readonly of?: string;
}

/** Both give none for a trigger that has no token. */
export function issueTrackerOutbound(
  accessOf: (trigger: IssueTrackerTrigger) => TrackerAccess | undefined,
  senderOf: (trigger: IssueTrackerTrigger) => string | undefined,
): Outbound<IssueTrackerTrigger, IssueComment> {
  const pacing = new Pacing({
    accountEveryMs: ACCOUNT_EVERY_MS,
    accountBurst: ACCOUNT_BURST,
    place: ISSUE_PACE,
  });
  const credentialOf = (trigger: IssueTrackerTrigger) => senderOf(trigger) ?? '';
  return {
    target: (trigger, inbound) => (accessOf(trigger) === undefined ? undefined : target(inbound)),
    async destination(trigger, conversation) {
      const account = { platform: 'issuetracker', account: trackerAccount(trigger) };
      const [issue = '', ...rest] = partsOfConversation(account, conversation) ?? [];
      const isThere = accessOf(trigger) !== undefined && ISSUE.test(issue) && rest.length === 0;
      return isThere ? { place: issue } : undefined;
    },
    render: (_, message) => rendered(message),
    limits: (trigger) => ({
      text: { most: MAX_COMMENT, unit: 'utf16' },
      ...pacing.inForce(credentialOf(trigger), { issue: ISSUE_PACE }),
    }),
    sendsTo: ({ config }) => config.base_url,
    senderOf,
    async send(trigger, comment, context) {
      const access = accessOf(trigger);
      if (access === undefined)
        throw new DeliveryError(`trigger ${trigger.name} has no token any more`, { isFinal: true });
      const turn = { account: credentialOf(trigger), place: comment.issue, isOfPlace };
      return pacing.run(turn, () => sendComment(access, comment, context));
    },
  };
}

/** None for what is of no issue, or of one that is gone. */
function target({ names, context }: InboundEvent): OutboundTarget | undefined {
  const { 'issue.key': issue } = context;
  if (typeof issue !== 'string' || names.includes('tracker:issue_deleted')) return undefined;
  return { place: issue };
}

function rendered({
  target: { place: issue },
  action,
  text,
  card,
}: OutboundMessage): readonly IssueComment[] {
  if (action.do === 'react')
    throw new UnrenderableError(`a comment on ${issue} can be written and changed, not reacted to`);
  return commentDocuments(withCardText(text, card), MOST_RENDERED).map((body, i) => ({
    issue,
    body,
    ...(action.do === 'edit' && i === 0 && { of: action.of }),
  }));
}

async function sendComment(
  access: TrackerAccess,
  { issue, body, of }: IssueComment,
  context: SendContext,
): Promise<Receipt> {
  const { rowId, madeAt, wasTried, signal } = context;
  const before = of === undefined ? undefined : await context.receiptOf(of);
  if (before !== undefined) return changeComment(access, { issue, body }, before, signal);
  const property = commentMark(rowId);
  const sought = { issue, body, property, madeAt };
  const found = wasTried ? await findComment(access.api, sought, signal) : 'absent';
  if (typeof found === 'object') return found;
  const id = await access.comments.write(issue, async () => {
    const comment = await access.api.post(issue, body, [property], signal);
    access.own.note(comment.author);
    return comment.id;
  });
  return found === 'unknown' ? { id, note: MAY_BE_TWICE } : { id };
}

const MAY_BE_TWICE = 'it may stand there twice: its issue has more new comments than are looked through';

async function changeComment(
  { api }: TrackerAccess,
  { issue, body }: IssueComment,
  { id }: Receipt,
  signal: AbortSignal,
): Promise<Receipt> {
  try {
    await api.change(issue, id, body, signal);
    return { id };
  } catch (error) {
    const fault = error as DeliveryError;
    if (fault.platformCode !== 404 && fault.platformCode !== 410) throw fault;
    throw fault.with({ isFinal: true, isTooSoon: false, isTargetGone: true });
  }
}

const isOfPlace = ({ platformCode }: DeliveryError): boolean => platformCode === ISSUE_LIMIT;
