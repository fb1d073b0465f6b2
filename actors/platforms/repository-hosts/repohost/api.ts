// REST client of the host: comments on issues and pull requests, which share one numbering and one API, and
// write permissions.
//
// If the host's clock shows a time before the row was created, the gateway's clock was wrong; then all
// comments are searched. The host also returns 404 to tokens that lack access; a second request distinguishes
// this from a user who has no permissions.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoApi, type RepoItemRef, type RepoSender } from '../host.ts';
import { nextPage } from '../next-page.ts';
import { idOf, RepoRest } from '../rest.ts';
import { RepoHostReviews } from './reviews.ts';

/** Interval between writes that the host's documentation requires. */
const WRITE_EVERY_MS = 3_000;
/**
 * Maximum number of pages of comments since the row was created. An older comment is not found; then it is
 * duplicated.
 */
const MAX_PAGES = 10;
/** Tolerance for a slow host clock. */
const CLOCK_SKEW_MS = 600_000;

/** One client per token. */
export class RepoHostApi implements RepoApi {
  /** Account of the token's user, by login. */
  readonly own: OwnAccount;
  readonly rest: RepoRest;
  readonly reviews: RepoHostReviews;

  /** `userRetryMs` is the minimum pause, after failures, between requests for the token's user. */
  constructor(apiUrl: string, token: string, userRetryMs: number) {
    this.rest = new RepoRest({
      baseUrl: apiUrl,
      token,
      writeEveryMs: WRITE_EVERY_MS,
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `token ${token}`,
        // The version that this client implements.
        'x-github-api-version': '2022-11-28',
      },
    });
    const login = async () =>
      textMember((await this.rest.read('/user', 'the name of its own user')).data, 'login');
    this.own = new OwnAccount(login, userRetryMs);
    this.reviews = new RepoHostReviews(this.rest, this.own);
  }

  async postComment(place: RepoItemRef, body: string, signal: AbortSignal): Promise<string> {
    const what = `a comment on ${nameOf(place)}`;
    const data = await this.rest.create(commentsOf(place), { body }, what, signal);
    this.own.note(textMember(data, 'user.login'));
    return idOf(data);
  }

  async changeComment(place: RepoItemRef, id: string, body: string, signal: AbortSignal): Promise<void> {
    const comment = `/repos/${place.repository}/issues/comments${path`/${id}`}`;
    await this.rest.change('PATCH', comment, { body }, `a comment on ${nameOf(place)}`, signal);
  }

  async findComment(
    place: RepoItemRef,
    { mark, madeAt, signal }: CommentSearch,
  ): Promise<string | undefined> {
    const comments = commentsOf(place);
    const all = `${comments}?per_page=100`;
    const since = encodeURIComponent(new Date(madeAt - CLOCK_SKEW_MS).toISOString());
    let isSince = true;
    let page: string | undefined = `${all}&since=${since}`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, link, time } = await this.rest.read(page, `the comments on ${nameOf(place)}`, signal);
      if (!Array.isArray(data))
        throw new DeliveryError(`the host returned no list for the comments on ${nameOf(place)}`);
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
    const permissionPath = `/repos/${repository}${path`/collaborators/${id}/permission`}`;
    try {
      const { data } = await this.rest.read(
        permissionPath,
        `the permission of ${id} in ${repository}`,
        signal,
      );
      // The legacy field. It maps every role, including custom roles and `maintain`, to one of these values.
      const permission = textMember(data, 'permission');
      if (permission === undefined) throw new DeliveryError(`the response contains no permission of ${id}`);
      return permission === 'admin' || permission === 'write';
    } catch (error) {
      const fault = error as DeliveryError;
      if (fault.platformCode !== 404) throw withRight(fault, repository);
    }
    try {
      await this.rest.read(`/repos/${repository}`, `the repository ${repository}`, signal);
      // Apps, bots and deleted accounts are not users in this API.
      return false;
    } catch (error) {
      throw withRight(error as DeliveryError, repository);
    }
  }
}

/** Adds the missing right of the token to a final error. */
function withRight(fault: DeliveryError, repository: string): DeliveryError {
  if (!fault.isFinal) return fault;
  const { message, platformCode } = fault;
  const right =
    platformCode === 401
      ? 'the token is invalid or expired'
      : `the token needs write access to ${repository} (fine-grained: Metadata, read) to read permissions`;
  return new DeliveryError(`${message}: ${right}`, { cause: fault, platformCode, isFinal: true });
}

const commentsOf = ({ repository, number }: RepoItemRef) => `/repos/${repository}/issues/${number}/comments`;
