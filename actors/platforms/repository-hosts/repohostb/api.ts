// REST client of the host: notes (comments) on issues and merge requests, which the host numbers separately,
// and write permissions.
//
// If the host's clock shows a time before the row was created, the gateway's clock was wrong; then all notes
// are searched. The host also returns 404 to tokens that lack access; a second request distinguishes this
// from a user who has no permissions.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, numberMember, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoApi, type RepoItemRef, type RepoSender } from '../host.ts';
import { nextPage } from '../next-page.ts';
import { idOf, RepoRest } from '../rest.ts';
import { projectOf } from './project-path.ts';
import { RepoHostBReviews } from './reviews.ts';

/**
 * Maximum number of pages of notes since the row was created. An older note is not found; then it is
 * duplicated.
 */
const MAX_PAGES = 10;
/** Interval between writes; the host accepts 300 notes per minute and user. */
const WRITE_EVERY_MS = 250;
/** Tolerance for a slow host clock. */
const CLOCK_SKEW_MS = 600_000;
/** Access level "developer", the lowest role that may push. */
const MAY_PUSH = 30;

/** One client per token. */
export class RepoHostBApi implements RepoApi {
  /** Account of the token's user, by user name. */
  readonly own: OwnAccount;
  readonly rest: RepoRest;
  readonly reviews: RepoHostBReviews;

  /** `userRetryMs` is the minimum pause, after failures, between requests for the token's user. */
  constructor(apiUrl: string, token: string, userRetryMs: number) {
    this.rest = new RepoRest({
      baseUrl: apiUrl,
      token,
      writeEveryMs: WRITE_EVERY_MS,
      // Valid for tokens of persons, projects, groups and apps; PRIVATE-TOKEN is not valid for apps.
      headers: { authorization: `Bearer ${token}` },
    });
    const name = async () =>
      textMember((await this.rest.read('/user', 'the name of its own user')).data, 'username');
    this.own = new OwnAccount(name, userRetryMs);
    this.reviews = new RepoHostBReviews(this.rest);
  }

  async postComment(place: RepoItemRef, body: string, signal: AbortSignal): Promise<string> {
    const what = `a note on ${nameOf(place)}`;
    const note = place.isInternal === true ? { body, internal: true } : { body };
    // Status 202 means that the note contained only commands.
    const data = await this.rest.create(notesOf(place), note, what, signal);
    this.own.note(textMember(data, 'author.username'));
    return idOf(data);
  }

  async changeComment(place: RepoItemRef, id: string, body: string, signal: AbortSignal): Promise<void> {
    const note = notesOf(place) + path`/${id}`;
    await this.rest.change('PUT', note, { body }, `a note on ${nameOf(place)}`, signal);
  }

  async findComment(
    place: RepoItemRef,
    { mark, madeAt, signal }: CommentSearch,
  ): Promise<string | undefined> {
    const notes = notesOf(place);
    const since = madeAt - CLOCK_SKEW_MS;
    let isClockWrong = false;
    let page: string | undefined = `${notes}?sort=desc&order_by=created_at&per_page=100`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, link, time } = await this.rest.read(page, `the notes on ${nameOf(place)}`, signal);
      if (!Array.isArray(data))
        throw new DeliveryError(`the host returned no list for the notes on ${nameOf(place)}`);
      const posted: unknown = data.find((each) => String(memberOf(each, 'body')).includes(mark));
      if (posted !== undefined) return idOf(posted);
      isClockWrong ||= time !== undefined && time < since;
      const oldest = Date.parse(textMember(data.at(-1), 'created_at') ?? '');
      if (oldest < since && !isClockWrong) return undefined;
      page = nextPage(notes, link);
    }
    return undefined;
  }

  async mayWrite(repository: string, { name, id }: RepoSender, signal: AbortSignal): Promise<boolean> {
    const user = /^\d+$/.test(id) ? id : await this.#idOf(name, signal);
    if (user === undefined) return false;
    const member = `${projectOf(repository)}/members/all/${user}`;
    try {
      const { data } = await this.rest.read(member, `the permission of ${name} in ${repository}`, signal);
      const level = memberOf(data, 'access_level');
      if (typeof level !== 'number')
        throw new DeliveryError(`the response contains no permission of ${name}`);
      return level >= MAY_PUSH && (textMember(data, 'state') ?? 'active') === 'active';
    } catch (error) {
      const fault = error as DeliveryError;
      if (fault.platformCode !== 404) throw withRight(fault, repository);
    }
    try {
      await this.rest.read(projectOf(repository), `the repository ${repository}`, signal);
      return false;
    } catch (error) {
      throw withRight(error as DeliveryError, repository);
    }
  }

  /** Returns the user id by name, for host versions that send no user id. */
  async #idOf(name: string, signal: AbortSignal): Promise<string | undefined> {
    const users = path`/users?username=${name}`;
    const { data } = await this.rest.read(users, `the user ${name}`, signal);
    const id = numberMember(data, '0.id');
    return id === undefined ? undefined : String(id);
  }
}

/** Adds the missing right of the token to a final error. */
function withRight(fault: DeliveryError, repository: string): DeliveryError {
  if (!fault.isFinal) return fault;
  const { message, platformCode } = fault;
  const right =
    platformCode === 401
      ? 'the token is invalid or expired'
      : `the token needs membership of ${repository} and scope api to read permissions`;
  return new DeliveryError(`${message}: ${right}`, { cause: fault, platformCode, isFinal: true });
}

function notesOf({ repository, sign, number }: RepoItemRef): string {
  return `${projectOf(repository)}/${sign === '!' ? 'merge_requests' : 'issues'}/${number}/notes`;
}
