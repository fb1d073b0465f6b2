// Answers as comments on issues and pull requests: the row of the outbox, and how it is sent.
//
// COM1  where an attempt was begun before, it is looked first whether the comment is there already: that one may have posted
//      it and have ended before it could say so, whether it counts as an attempt or not.
// COM2  a row that was made later than it is at the host was made by a clock that was wrong: then all comments are looked at.

import type { RepoHostTrigger } from '../../../config/resources/trigger.ts';
import type { AgentReply } from '../../handlers/handler.ts';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import type { NewEvent, StoredEvent } from '../../store/store.ts';
import type { InboundEvent } from '../adapter.ts';
import { memberOf, textMember } from '../payload-member.ts';
import { commentBody, commentMark } from './comment.ts';
import { repoFacts } from './context.ts';
import { nextPage } from './next-page.ts';
import type { RepoHostApi } from './repohost-api.ts';

/** Of the comments since the row was made: more than these in one conversation, and it is posted again. */
const MAX_PAGES = 10;
/** The host's clock may be behind ours. */
const CLOCK_SKEW_MS = 600_000;

interface Comment {
  readonly repository: string;
  readonly number: number;
  readonly body: string;
}

/** One row with the comment; none where there is nobody to write as, nothing to say, or nowhere to say it. */
export function commentRows(
  { name, config }: RepoHostTrigger,
  event: StoredEvent,
  inbound: InboundEvent,
  answer: AgentReply,
): readonly NewEvent[] {
  const facts = repoFacts(inbound.names.at(-1) ?? '', inbound.payload);
  if (config.token === undefined || facts?.number === undefined || answer.text.trim() === '') return [];
  const { repository, number } = facts;
  const id = `${event.id}/1`;
  const comment: Comment = { repository, number, body: commentBody(answer.text, id) };
  return [
    {
      id,
      key: `outbox/repohost/${repository}#${number}`,
      meta: JSON.stringify({ trigger: name }),
      body: Buffer.from(JSON.stringify(comment)),
      trace: event.trace,
    },
  ];
}

/** Posts the comment of a row. Rejects with a DeliveryError. */
export async function sendComment(api: RepoHostApi, row: StoredEvent, signal: AbortSignal): Promise<void> {
  const comment = JSON.parse(Buffer.from(row.body).toString('utf8')) as Comment;
  const { repository, number, body } = comment;
  const path = `/repos/${repository}/issues/${number}/comments`;
  const place = `${repository}#${number}`;
  const mayBePosted = row.attempt > 1 || row.wasClaimed === true;
  if (mayBePosted && (await isPosted(api, path, row, place, signal))) return;
  const { status, data } = await api.write(path, { body }, `a comment on ${place}`, signal);
  // A redirect turns a POST into a GET, which is answered 200 and has posted nothing.
  if (status !== 201)
    throw new DeliveryError(`the comment on ${place} was answered ${status} instead of 201`, {
      isFinal: true,
    });
  api.noteOwnLogin(textMember(data, 'user.login'));
}

async function isPosted(
  api: RepoHostApi,
  path: string,
  row: StoredEvent,
  place: string,
  signal: AbortSignal,
): Promise<boolean> {
  const mark = commentMark(row.id);
  const all = `${path}?per_page=100`;
  const since = encodeURIComponent(new Date(row.at - CLOCK_SKEW_MS).toISOString());
  let isSince = true;
  let page: string | undefined = `${all}&since=${since}`;
  for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
    const { data, link, time } = await api.read(page, `the comments on ${place}`, signal);
    if (!Array.isArray(data))
      throw new DeliveryError(`the host answered the comments on ${place} with no list`);
    if (data.some((each) => String(memberOf(each, 'body')).includes(mark))) return true;
    if (isSince && time !== undefined && time < row.at - CLOCK_SKEW_MS) {
      isSince = false;
      page = all;
    } else page = nextPage(path, link);
  }
  return false;
}
