// The host's REST API: comments on pull requests and reviews of them, and who may write to a repository.
//
// A comment that was made later than it is at the host was made by a clock that was wrong: then all comments are looked at.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoApi, type RepoPlace, type RepoSender } from '../host.ts';
import { idOf, RepoRest } from '../rest.ts';
import { accountOf } from './account.ts';
import { pageAfter } from './pages.ts';
import { RepoHostCReviews } from './reviews.ts';
import { mayWrite } from './writers.ts';

/** Of the newest comments: more than these on one pull request since the row was made, and it is posted again. */
const MAX_PAGES = 10;
/** The host takes about 1,000 requests an hour under one token, and more of them at once. */
const WRITE_EVERY_MS = 1_000;
/** The host's clock may be behind ours. */
const CLOCK_SKEW_MS = 600_000;

/** One for each token. */
export class RepoHostCApi implements RepoApi {
  /** Whose token it is, by the host's id. */
  readonly own: OwnAccount;
  readonly rest: RepoRest;
  readonly reviews: RepoHostCReviews;

  /** `askAccountEveryMs` is the least pause between two questions whose token it is. */
  constructor(apiUrl: string, token: string, askAccountEveryMs: number) {
    // A user's token stands behind the user's address, and has a scheme of its own.
    const basic = token.includes(':') ? Buffer.from(token).toString('base64') : undefined;
    this.rest = new RepoRest({
      baseUrl: apiUrl,
      token,
      writeEveryMs: WRITE_EVERY_MS,
      otherSecrets: basic === undefined ? [] : [basic, token.slice(token.indexOf(':') + 1)],
      headers: { authorization: basic === undefined ? `Bearer ${token}` : `Basic ${basic}` },
    });
    // Access tokens are none of a user: the host refuses to say whose they are, and says it with the first comment.
    const account = async () => accountOf((await this.rest.read('/user', 'the name of its own user')).data);
    this.own = new OwnAccount(account, askAccountEveryMs);
    this.reviews = new RepoHostCReviews(this.rest, this.own);
  }

  async postComment(place: RepoPlace, body: string, signal: AbortSignal): Promise<string> {
    const what = `a comment on ${nameOf(place)}`;
    const data = await this.rest.create(commentsOf(place), contentOf(body), what, signal);
    this.own.note(accountOf(memberOf(data, 'user')));
    return idOf(data);
  }

  async changeComment(place: RepoPlace, id: string, body: string, signal: AbortSignal): Promise<void> {
    const what = `a comment on ${nameOf(place)}`;
    const comment = commentsOf(place) + path`/${id}`;
    const data = await this.rest.change('PUT', comment, contentOf(body), what, signal);
    if (memberOf(data, 'deleted') !== true) return;
    throw new DeliveryError(`${what} was deleted`, { isFinal: true, isTargetGone: true });
  }

  async findComment(place: RepoPlace, { mark, madeAt, signal }: CommentSearch): Promise<string | undefined> {
    const all = commentsOf(place);
    const since = madeAt - CLOCK_SKEW_MS;
    let page: string | undefined = `${all}?pagelen=100&sort=-created_on`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, time } = await this.rest.read(page, `the comments on ${nameOf(place)}`, signal);
      const comments = memberOf(data, 'values');
      if (!Array.isArray(comments))
        throw new DeliveryError(`the host answered the comments on ${nameOf(place)} with no list`);
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
const commentsOf = ({ repository, number }: RepoPlace) =>
  `/repositories/${repository}/pullrequests/${number}/comments`;
