// Answers as comments on issues and requests. Each begins with a mark that nobody sees, by which a second attempt finds
// what a first one may have posted, and by which our own comments are known: behind the answer a block of code, an HTML
// comment or a folded section that it leaves open would take it in.
//
// How a verdict becomes a review stands in reviews.ts.
//
// COM1  where an attempt was begun before, it is looked first whether the comment is there already: that one may have posted
//      it and have ended before it could say so, whether it counts as an attempt or not.

import type { InboundEvent } from '../../events/inbound-event.ts';
import { withCardText } from '../../events/outbox/card-text.ts';
import { cutText } from '../../events/outbox/cut-text.ts';
import { DeliveryError, UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import type { OutboundMessage, OutboundTarget } from '../../events/outbox/outbound-message.ts';
import type { ResendMarks } from '../../events/outbox/resend-mark.ts';
import { factsOf } from './event.ts';
import {
  type RepoApi,
  type RepoHost,
  type RepoPlace,
  type RepoTrigger,
  repoPlaceIn,
  type Verdict,
} from './host.ts';
import { REVIEWS, RefusedReviews, sendReview, UNJUDGED_ROOM, verdictOf } from './reviews.ts';

/** Where answers are for those alone who work on the repository: in the target beside the place of its comments. */
const INTERNAL = 'internal';

interface Comment {
  readonly repository: string;
  readonly number: number;
  /** In rows of an older version it is not there: `#`. */
  readonly sign?: RepoPlace['sign'];
  readonly isInternal?: boolean;
  readonly text: string;
  /** In rows of an older version, in place of the text: with its mark. */
  readonly body?: string;
  /** The row whose comment this is to stand in, if that has one. */
  readonly of?: string;
  /** It is a review that says so, with that text where it has any. */
  readonly verdict?: Verdict;
}

/** Both give none for a trigger that has no token. */
export function repoOutbound<T extends RepoTrigger, Api extends RepoApi>(
  host: Pick<RepoHost<T, Api>, 'marks' | 'maxComment' | 'mentions' | 'harmless' | 'hasComments' | 'reviews'>,
  apiOf: (trigger: T) => Api | undefined,
  senderOf: (trigger: T) => string | undefined,
): Outbound<T, Comment> {
  const { marks, mentions, hasComments, reviews } = host;
  const refused = new RefusedReviews();
  return {
    target({ config }, inbound) {
      const { item, pull } = factsOf(inbound);
      if (config.token === undefined || item === undefined || hasComments?.(item) === false) return undefined;
      const target = targetOf(inbound, item);
      // Who sees an approval cannot be chosen: what is internal judges nothing.
      if (item.isInternal === true) return { ...target, thread: INTERNAL };
      const mayJudge = config.reviews === 'allow' && reviews !== undefined && pull !== undefined;
      return mayJudge ? { ...target, thread: REVIEWS } : target;
    },
    render(_, message) {
      const verdict = verdictOf(message, reviews);
      if (verdict === undefined) return [rendered(message, host)];
      if (reviews?.haveWords === true)
        return [{ ...rendered(message, { ...host, maxComment: host.maxComment - UNJUDGED_ROOM }), verdict }];
      const comment = rendered(message, host);
      const judged = { ...comment, text: '', verdict };
      return comment.text === '' ? [judged] : [comment, judged];
    },
    mentions,
    sendsTo: ({ config }) => config.api_url,
    senderOf,
    async send(trigger, comment, context) {
      const api = apiOf(trigger);
      if (api === undefined)
        throw new DeliveryError(`trigger ${trigger.name} has no token any more`, { isFinal: true });
      const { verdict } = comment;
      if (verdict === undefined) return sendComment(api, marks, comment, context);
      return sendReview(
        {
          ...{ api, place: placeOf(comment), verdict, mark: marks.of(context.rowId), refused },
          body: reviews?.haveWords === true ? markedHead(marks, context.rowId) + comment.text : '',
        },
        context,
        (text) => sendComment(api, marks, { ...comment, text: text + comment.text }, context),
      );
    },
  };
}

function targetOf(
  { channel }: InboundEvent,
  { sign, number }: Omit<RepoPlace, 'repository'>,
): OutboundTarget {
  return { place: `${channel}${sign}${number}` };
}

function rendered(message: OutboundMessage, host: Parameters<typeof commentText>[1]): Comment {
  const { target, action, text, card } = message;
  if (action.do === 'react')
    throw new UnrenderableError(`a comment on ${target.place} can be written and changed, not reacted to`);
  return {
    ...repoPlaceIn(message),
    ...(target.thread === INTERNAL && { isInternal: true }),
    text: commentText(withCardText(text, card), host),
    ...(action.do === 'edit' && { of: action.of }),
  };
}

/** What would pass for the mark of another row is not in it, nor what the host would obey. */
export function commentText(
  answer: string,
  {
    marks,
    maxComment,
    harmless = (text) => text,
  }: { readonly marks: ResendMarks; readonly maxComment: number; harmless?(text: string): string },
): string {
  const text = harmless(marks.takenOut(answer)).trimEnd();
  return cutText(text, {
    limit: maxComment - markedHead(marks, '').length,
    unit: 'utf16',
    note: `*(cut: the answer has ${text.length} characters, more than a comment can hold)*`,
  });
}

const markedHead = (marks: ResendMarks, rowId: string) => `${marks.of(rowId)}\n\n`;

const placeOf = ({ repository, number, sign = '#', isInternal = false }: Comment): RepoPlace => ({
  ...{ repository, number, sign, isInternal },
});

async function sendComment(
  api: RepoApi,
  marks: ResendMarks,
  comment: Comment,
  { rowId, madeAt, wasTried, signal, receiptOf }: SendContext,
): Promise<Receipt> {
  const { text, body = markedHead(marks, rowId) + text, of } = comment;
  const place = placeOf(comment);
  const before = of === undefined ? undefined : await receiptOf(of);
  if (before !== undefined) {
    // As often as it may be repeated, the comment says the same.
    await api.changeComment(place, before.id, body, signal);
    return { id: before.id };
  }
  if (wasTried) {
    const id = await api.findComment(place, { mark: marks.of(rowId), madeAt, signal });
    if (id !== undefined) return { id };
  }
  return { id: await api.postComment(place, body, signal) };
}
