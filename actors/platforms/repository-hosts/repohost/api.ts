// The host's REST API: comments on issues and pull requests, which it numbers and writes alike; and who may write to a repository.
//
// A comment that was made later than it is at the host was made by a clock that was wrong: then all comments are looked at.
// What is not there is also what a token without the right sees: of a person that is told from one who may not write.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoApi, type RepoPlace, type RepoSender } from '../host.ts';
import { nextPage } from '../next-page.ts';
import { idOf, RepoRest } from '../rest.ts';
import { RepoHostReviews } from './reviews.ts';

/** As the host asks for. */
const WRITE_EVERY_MS = 3_000;
/** Of the comments since the row was made: more than these in one conversation, and it is posted again. */
const MAX_PAGES = 10;
/** The host's clock may be behind ours. */
const CLOCK_SKEW_MS = 600_000;

/** One for each token. */
export class RepoHostApi implements RepoApi {
  /** Whose token it is, by login. */
  readonly own: OwnAccount;
  readonly rest: RepoRest;
  readonly reviews: RepoHostReviews;

  /** `askLoginEveryMs` is the least pause between two questions whose token it is. */
  constructor(apiUrl: string, token: string, askLoginEveryMs: number) {
    this.rest = new RepoRest({
      baseUrl: apiUrl,
      token,
      writeEveryMs: WRITE_EVERY_MS,
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `token ${token}`,
        // All this was written for.
        'x-github-api-version': '2022-11-28',
      },
    });
    const login = async () =>
      textMember((await this.rest.read('/user', 'the name of its own user')).data, 'login');
    this.own = new OwnAccount(login, askLoginEveryMs);
    this.reviews = new RepoHostReviews(this.rest, this.own);
  }

  async postComment(place: RepoPlace, body: string, signal: AbortSignal): Promise<string> {
    const what = `a comment on ${nameOf(place)}`;
    const data = await this.rest.create(commentsOf(place), { body }, what, signal);
    this.own.note(textMember(data, 'user.login'));
    return idOf(data);
  }

  async changeComment(place: RepoPlace, id: string, body: string, signal: AbortSignal): Promise<void> {
    const comment = `/repos/${place.repository}/issues/comments${path`/${id}`}`;
    await this.rest.change('PATCH', comment, { body }, `a comment on ${nameOf(place)}`, signal);
  }

  async findComment(place: RepoPlace, { mark, madeAt, signal }: CommentSearch): Promise<string | undefined> {
    const comments = commentsOf(place);
    const all = `${comments}?per_page=100`;
    const since = encodeURIComponent(new Date(madeAt - CLOCK_SKEW_MS).toISOString());
    let isSince = true;
    let page: string | undefined = `${all}&since=${since}`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, link, time } = await this.rest.read(page, `the comments on ${nameOf(place)}`, signal);
      if (!Array.isArray(data))
        throw new DeliveryError(`the host answered the comments on ${nameOf(place)} with no list`);
      const posted: unknown = data.find((each) => String(memberOf(each, 'body')).includes(mark));
      if (posted !== undefined) return idOf(posted);
      if (isSince && time !== undefined && time < madeAt - CLOCK_SKEW_MS) {
        isSince = false;
        page = all;
      } else page = nextPage(comments, link);
    }
    return undefined;
  }

  async mayWrite(repository: string, { id }: RepoSender, signal: AbortSignal): Promise<boolean> {
    const asked = `/repos/${repository}${path`/collaborators/${id}/permission`}`;
    try {
      const { data } = await this.rest.read(asked, `whether ${id} may write to ${repository}`, signal);
      // The older word of the two, which every role has: those of one's own, and `maintain`, stand for one of these.
      const permission = textMember(data, 'permission');
      if (permission === undefined) throw new DeliveryError(`the host did not say what ${id} may do`);
      return permission === 'admin' || permission === 'write';
    } catch (error) {
      const fault = error as DeliveryError;
      if (fault.platformCode !== 404) throw withRight(fault, repository);
    }
    try {
      await this.rest.read(`/repos/${repository}`, `whether the token may see ${repository}`, signal);
      // Apps and bots are no users to it, nor is who has gone.
      return false;
    } catch (error) {
      throw withRight(error as DeliveryError, repository);
    }
  }
}

/** Of a question who may write: what the token lacks. */
function withRight(fault: DeliveryError, repository: string): DeliveryError {
  if (!fault.isFinal) return fault;
  const { message, platformCode } = fault;
  const right =
    platformCode === 401
      ? 'the token is not valid (any more)'
      : `the token needs write access to ${repository}, a fine-grained one with Metadata (read), to know who may command`;
  return new DeliveryError(`${message}: ${right}`, { cause: fault, platformCode, isFinal: true });
}

const commentsOf = ({ repository, number }: RepoPlace) => `/repos/${repository}/issues/${number}/comments`;
