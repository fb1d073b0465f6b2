// Sends answers as comments on issues and pull requests; reviews.ts converts verdicts into reviews. Each
// comment begins with an invisible mark, which identifies it as the gateway's, and by which the comment of an
// earlier attempt is found. A mark at the end could be hidden by an unclosed code block, HTML comment or
// folded section.
//
// If an earlier attempt began, the comment is searched for before the post: that attempt may have posted the
// comment and stopped before the receipt was stored. This includes attempts that do not count, such as
// deferred attempts.

import type { InboundEvent } from '../../events/inbound-event.ts';
import { withCardText } from '../../events/outbox/card-text.ts';
import { DeliveryError, UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { OutboundMessage, OutboundTarget } from '../../events/outbox/message.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import type { ResendMarks } from '../../events/outbox/resend-mark.ts';
import { truncateWithNote } from '../../events/outbox/truncate.ts';
import { factsOf } from './event.ts';
import {
  parseItemRef,
  type RepoApi,
  type RepoHost,
  type RepoItemRef,
  type RepoTrigger,
  type ReviewVerdict,
} from './host.ts';
import { NO_REVIEW_PREFIX_LENGTH, REVIEWS, RefusedReviews, sendReview, verdictOf } from './reviews.ts';

/** Value of `target.thread` for internal answers. */
const INTERNAL = 'internal';

interface Comment {
  readonly repository: string;
  readonly number: number;
  /** Missing in rows of older versions, which means `#`. */
  readonly sign?: RepoItemRef['sign'];
  readonly isInternal?: boolean;
  readonly text: string;
  /** The text with the mark, in rows of older versions; replaces `text`. */
  readonly body?: string;
  /** Outbox row of the comment to edit. If its receipt is missing, a new comment is posted. */
  readonly of?: string;
  /** Set for a review: its verdict. The text belongs to the review, if reviews contain text. */
  readonly verdict?: ReviewVerdict;
}

/** `apiOf` and `credentialNameOf` return undefined for a trigger that has no token. */
export function repoOutbound<T extends RepoTrigger, Api extends RepoApi>(
  host: Pick<
    RepoHost<T, Api>,
    'marks' | 'maxComment' | 'mentions' | 'escapeCommands' | 'hasComments' | 'reviews'
  >,
  apiOf: (trigger: T) => Api | undefined,
  credentialNameOf: (trigger: T) => string | undefined,
): Outbound<T, Comment> {
  const { marks, mentions, hasComments, reviews } = host;
  const refused = new RefusedReviews();
  return {
    target({ config }, inbound) {
      const { item, pull } = factsOf(inbound);
      if (config.token === undefined || item === undefined || hasComments?.(item) === false) return undefined;
      const target = targetOf(inbound, item);
      // Reviews cannot be internal.
      if (item.isInternal === true) return { ...target, thread: INTERNAL };
      const mayReview = config.reviews === 'allow' && reviews !== undefined && pull !== undefined;
      return mayReview ? { ...target, thread: REVIEWS } : target;
    },
    render(_, message) {
      const verdict = verdictOf(message, reviews);
      if (verdict === undefined) return [renderComment(message, host)];
      // Some hosts have reviews with text. Other hosts get the text as a comment before the review.
      if (reviews?.haveText === true)
        return [
          {
            ...renderComment(message, { ...host, maxComment: host.maxComment - NO_REVIEW_PREFIX_LENGTH }),
            verdict,
          },
        ];
      const comment = renderComment(message, host);
      const review = { ...comment, text: '', verdict };
      return comment.text === '' ? [review] : [comment, review];
    },
    mentions,
    addressOf: ({ config }) => config.api_url,
    credentialNameOf,
    async send(trigger, comment, context) {
      const api = apiOf(trigger);
      if (api === undefined)
        throw new DeliveryError(`trigger ${trigger.name} no longer has a token`, { isFinal: true });
      const { verdict } = comment;
      if (verdict === undefined) return sendComment(api, marks, comment, context);
      return sendReview(
        {
          ...{ api, place: toPlace(comment), verdict, mark: marks.markFor(context.rowId), refused },
          body: reviews?.haveText === true ? markPrefix(marks, context.rowId) + comment.text : '',
        },
        context,
        (text) => sendComment(api, marks, { ...comment, text: text + comment.text }, context),
      );
    },
  };
}

function targetOf(
  { channel }: InboundEvent,
  { sign, number }: Omit<RepoItemRef, 'repository'>,
): OutboundTarget {
  return { place: `${channel}${sign}${number}` };
}

function renderComment(message: OutboundMessage, host: Parameters<typeof commentText>[1]): Comment {
  const { target, action, text, card } = message;
  if (action.do === 'react')
    throw new UnrenderableError(`a comment on ${target.place} can be posted and edited, not reacted to`);
  return {
    ...parseItemRef(message),
    ...(target.thread === INTERNAL && { isInternal: true }),
    text: commentText(withCardText(text, card), host),
    ...(action.do === 'edit' && { of: action.of }),
  };
}

/**
 * Renders the comment's text: removes marks of other rows, escapes commands of the host, and cuts the text to
 * the limit.
 */
export function commentText(
  answer: string,
  {
    marks,
    maxComment,
    escapeCommands = (text) => text,
  }: { readonly marks: ResendMarks; readonly maxComment: number; escapeCommands?(text: string): string },
): string {
  const text = escapeCommands(marks.withoutMarks(answer)).trimEnd();
  return truncateWithNote(text, {
    limit: maxComment - markPrefix(marks, '').length,
    unit: 'utf16',
    note: `*(cut: the answer has ${text.length} characters, more than a comment can hold)*`,
  });
}

const markPrefix = (marks: ResendMarks, rowId: string) => `${marks.markFor(rowId)}\n\n`;

const toPlace = ({ repository, number, sign = '#', isInternal = false }: Comment): RepoItemRef => ({
  ...{ repository, number, sign, isInternal },
});

async function sendComment(
  api: RepoApi,
  marks: ResendMarks,
  comment: Comment,
  { rowId, createdAt, wasTried, signal, receiptOf }: SendContext,
): Promise<SendReceipt> {
  const { text, body = markPrefix(marks, rowId) + text, of: editedRowId } = comment;
  const place = toPlace(comment);
  const existing = editedRowId === undefined ? undefined : await receiptOf(editedRowId);
  if (existing !== undefined) {
    // An edit can be repeated safely.
    await api.changeComment(place, existing.id, body, signal);
    return { id: existing.id };
  }
  if (wasTried) {
    const id = await api.findComment(place, { mark: marks.markFor(rowId), madeAt: createdAt, signal });
    if (id !== undefined) return { id };
  }
  return { id: await api.postComment(place, body, signal) };
}
