// REST client of the host: comments on pull requests, reviews, and write permissions.
//
// If the host's clock shows a time before the row was created, the gateway's clock was wrong; then all
// comments are searched.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoApi, type RepoItemRef, type RepoSender } from '../host.ts';
import { idOf, RepoRest } from '../rest.ts';
import { accountOf } from './account.ts';
import { pageAfter } from './pages.ts';
import { RepoHostCReviews } from './reviews.ts';
import { mayWrite } from './writers.ts';

/**
 * Maximum number of pages of comments, newest first. An older comment is not found; then it is duplicated.
 */
const MAX_PAGES = 10;
/** Interval between writes; the host accepts about 1,000 requests per hour and token, with short bursts. */
const WRITE_EVERY_MS = 1_000;
/** Tolerance for a slow host clock. */
const CLOCK_SKEW_MS = 600_000;

/** One client per token. */
export class RepoHostCApi implements RepoApi {
  /** Account of the token's user, by id. */
  readonly own: OwnAccount;
  readonly rest: RepoRest;
  readonly reviews: RepoHostCReviews;

  /** `userRetryMs` is the minimum pause, after failures, between requests for the token's user. */
  constructor(apiUrl: string, token: string, userRetryMs: number) {
    // A personal token is written as `email:token` and uses the Basic scheme.
    const basic = token.includes(':') ? Buffer.from(token).toString('base64') : undefined;
    this.rest = new RepoRest({
      baseUrl: apiUrl,
      token,
      writeEveryMs: WRITE_EVERY_MS,
      otherSecrets: basic === undefined ? [] : [basic, token.slice(token.indexOf(':') + 1)],
      headers: { authorization: basic === undefined ? `Bearer ${token}` : `Basic ${basic}` },
    });
    // Access tokens belong to no user, so `/user` refuses them; the first comment then reveals the account.
    const account = async () => accountOf((await this.rest.read('/user', 'the name of its own user')).data);
    this.own = new OwnAccount(account, userRetryMs);
    this.reviews = new RepoHostCReviews(this.rest, this.own);
  }

  async postComment(place: RepoItemRef, body: string, signal: AbortSignal): Promise<string> {
    const what = `a comment on ${nameOf(place)}`;
    const data = await this.rest.create(commentsOf(place), contentOf(body), what, signal);
    this.own.note(accountOf(memberOf(data, 'user')));
    return idOf(data);
  }

  async changeComment(place: RepoItemRef, id: string, body: string, signal: AbortSignal): Promise<void> {
    const what = `a comment on ${nameOf(place)}`;
    const comment = commentsOf(place) + path`/${id}`;
    const data = await this.rest.change('PUT', comment, contentOf(body), what, signal);
    if (memberOf(data, 'deleted') !== true) return;
    throw new DeliveryError(`${what} was deleted`, { isFinal: true, isTargetMissing: true });
  }

  async findComment(
    place: RepoItemRef,
    { mark, madeAt, signal }: CommentSearch,
  ): Promise<string | undefined> {
    const all = commentsOf(place);
    const since = madeAt - CLOCK_SKEW_MS;
    let page: string | undefined = `${all}?pagelen=100&sort=-created_on`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, time } = await this.rest.read(page, `the comments on ${nameOf(place)}`, signal);
      const comments = memberOf(data, 'values');
      if (!Array.isArray(comments))
        throw new DeliveryError(`the host returned no list for the comments on ${nameOf(place)}`);
      const posted: unknown = comments.find((each) => String(memberOf(each, 'content.raw')).includes(mark));
      if (posted !== undefined) return idOf(posted);
      const oldest = Date.parse(textMember(comments.at(-1), 'created_on') ?? '');
      const isHostBehind = time !== undefined && time < since;
      page = oldest < since && !isHostBehind ? undefined : pageAfter(all, data);
    }
    return undefined;
  }

  mayWrite(repository: string, sender: RepoSender, signal: AbortSignal): Promise<boolean> {
    return mayWrite(this.rest, repository, sender, signal);
  }
}

const contentOf = (raw: string) => ({ content: { raw } });
const commentsOf = ({ repository, number }: RepoItemRef) =>
  `/repositories/${repository}/pullrequests/${number}/comments`;
