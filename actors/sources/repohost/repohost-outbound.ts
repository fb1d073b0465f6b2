// Answers as comments on issues and pull requests. Each begins with a mark that nobody sees, by which a second attempt finds
// what a first one may have posted, and by which our own comments are known: behind the answer a block of code, an HTML
// comment or a folded section that it leaves open would take it in.
//
// COM1  where an attempt was begun before, it is looked first whether the comment is there already: that one may have posted
//      it and have ended before it could say so, whether it counts as an attempt or not.
// COM2  a row that was made later than it is at the host was made by a clock that was wrong: then all comments are looked at.

import type { RepoHostTrigger } from '../../../config/resources/triggers/trigger.ts';
import { withCardText } from '../../outbound/card-text.ts';
import { cutText } from '../../outbound/cut-text.ts';
import { DeliveryError, UnrenderableError } from '../../outbound/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../outbound/outbound.ts';
import type { OutboundMessage, OutboundTarget } from '../../outbound/outbound-message.ts';
import { resendMark, withoutMarks } from '../../outbound/resend-mark.ts';
import type { InboundEvent } from '../adapter.ts';
import { memberOf, textMember } from '../payload-member.ts';
import { repoFacts } from './context.ts';
import { nextPage } from './next-page.ts';
import type { RepoHostApi } from './repohost-api.ts';

/** Of the host, in characters. */
const MAX_LENGTH = 65_536;
/** `@login` and `@org/team`, also with a sign that only the page shows as one. */
const MENTION = /(?<![A-Za-z0-9])(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=[A-Za-z0-9])/g;
/** Of the comments since the row was made: more than these in one conversation, and it is posted again. */
const MAX_PAGES = 10;
/** The host's clock may be behind ours. */
const CLOCK_SKEW_MS = 600_000;

interface Comment {
  readonly repository: string;
  readonly number: number;
  readonly text: string;
  /** In rows of an older version, in place of the text: with its mark. */
  readonly body?: string;
  /** The row whose comment this is to stand in, if that has one. */
  readonly of?: string;
}

/** Both give none for a trigger that has no token. */
export function repoHostOutbound(
  apiOf: (trigger: RepoHostTrigger) => RepoHostApi | undefined,
  senderOf: (trigger: RepoHostTrigger) => string | undefined,
): Outbound<RepoHostTrigger, Comment> {
  return {
    target,
    render: (_, message) => [rendered(message)],
    mentions: { pattern: MENTION },
    sendsTo: ({ config }) => config.api_url,
    senderOf,
    async send(trigger, comment, context) {
      const api = apiOf(trigger);
      if (api === undefined)
        throw new DeliveryError(`trigger ${trigger.name} has no token any more`, { isFinal: true });
      return sendComment(api, comment, context);
    },
  };
}

/** None where there is nobody to write as, or nowhere to write. */
function target({ config }: RepoHostTrigger, inbound: InboundEvent): OutboundTarget | undefined {
  const facts = repoFacts(inbound.names.at(-1) ?? '', inbound.payload);
  if (config.token === undefined || facts?.number === undefined) return undefined;
  return { place: `${facts.repository}#${facts.number}` };
}

function rendered({ target: { place }, action, text, card }: OutboundMessage): Comment {
  if (action.do === 'react')
    throw new UnrenderableError(`a comment on ${place} can be written and changed, not reacted to`);
  const end = place.lastIndexOf('#');
  return {
    repository: place.slice(0, end),
    number: Number(place.slice(end + 1)),
    text: commentText(withCardText(text, card)),
    ...(action.do === 'edit' && { of: action.of }),
  };
}

/** What would pass for the mark of another row is not in it. */
export function commentText(answer: string): string {
  const text = withoutMarks(answer).trimEnd();
  return cutText(text, {
    limit: MAX_LENGTH - markedHead('').length,
    unit: 'utf16',
    note: `*(cut: the answer has ${text.length} characters, more than a comment can hold)*`,
  });
}

const markedHead = (rowId: string) => `${resendMark(rowId)}\n\n`;

async function sendComment(api: RepoHostApi, comment: Comment, context: SendContext): Promise<Receipt> {
  const { repository, number, text, body = markedHead(context.rowId) + text, of } = comment;
  const before = of === undefined ? undefined : await context.receiptOf(of);
  if (before !== undefined) return changeComment(api, comment, before, body, context.signal);
  const path = `/repos/${repository}/issues/${number}/comments`;
  const place = `${repository}#${number}`;
  if (context.wasTried) {
    const id = await idOfPosted(api, path, place, context);
    if (id !== undefined) return { id };
  }
  const { status, data } = await api.write(path, { body }, `a comment on ${place}`, context.signal);
  // A redirect turns a POST into a GET, which is answered 200 and has posted nothing.
  if (status !== 201)
    throw new DeliveryError(`the comment on ${place} was answered ${status} instead of 201`, {
      platformCode: status,
      isFinal: true,
    });
  api.noteOwnLogin(textMember(data, 'user.login'));
  return { id: idOf(data) };
}

/** As often as it may be repeated, the comment says the same. */
async function changeComment(
  api: RepoHostApi,
  { repository, number }: Comment,
  { id }: Receipt,
  body: string,
  signal: AbortSignal,
): Promise<Receipt> {
  const what = `a comment on ${repository}#${number}`;
  try {
    await api.write(`/repos/${repository}/issues/comments/${id}`, { body }, what, signal, 'PATCH');
    return { id };
  } catch (error) {
    const fault = error as DeliveryError;
    if (fault.platformCode !== 404 && fault.platformCode !== 410) throw fault;
    throw fault.with({ isFinal: true, isTooSoon: false, isTargetGone: true });
  }
}

/** Undefined where it is not there. */
async function idOfPosted(
  api: RepoHostApi,
  path: string,
  place: string,
  { rowId, madeAt, signal }: SendContext,
): Promise<string | undefined> {
  const mark = resendMark(rowId);
  const all = `${path}?per_page=100`;
  const since = encodeURIComponent(new Date(madeAt - CLOCK_SKEW_MS).toISOString());
  let isSince = true;
  let page: string | undefined = `${all}&since=${since}`;
  for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
    const { data, link, time } = await api.read(page, `the comments on ${place}`, signal);
    if (!Array.isArray(data))
      throw new DeliveryError(`the host answered the comments on ${place} with no list`);
    const posted: unknown = data.find((each) => String(memberOf(each, 'body')).includes(mark));
    if (posted !== undefined) return idOf(posted);
    if (isSince && time !== undefined && time < madeAt - CLOCK_SKEW_MS) {
      isSince = false;
      page = all;
    } else page = nextPage(path, link);
  }
  return undefined;
}

function idOf(comment: unknown): string {
  const id = memberOf(comment, 'id');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : '';
}
