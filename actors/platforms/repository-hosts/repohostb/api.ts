// The second host's REST API: notes on issues and merge requests, which it numbers apart, and who may write to a repository.
//
// A note that was made later than it is at the host was made by a clock that was wrong: then all notes are looked at.
// What is not there is also what a token without the right sees: of a person that is told from one who may not write.

import { path } from '../../../../libs/rest/path.ts';
import { DeliveryError } from '../../../events/outbox/delivery-error.ts';
import { OwnAccount } from '../../accounts/own-account.ts';
import { memberOf, numberMember, textMember } from '../../payloads/payload-member.ts';
import { type CommentSearch, nameOf, type RepoApi, type RepoPlace, type RepoSender } from '../host.ts';
import { nextPage } from '../next-page.ts';
import { idOf, RepoRest } from '../rest.ts';
import { projectOf } from './place.ts';
import { RepoHostBReviews } from './reviews.ts';

/** Of the notes since the row was made: more than these in one conversation, and it is posted again. */
const MAX_PAGES = 10;
/** The host takes 300 notes a minute of one user. */
const WRITE_EVERY_MS = 250;
/** The host's clock may be behind ours. */
const CLOCK_SKEW_MS = 600_000;
/** Developer: the least role that may push. */
const MAY_PUSH = 30;

/** One for each token. */
export class RepoHostBApi implements RepoApi {
  /** Whose token it is, by user name. */
  readonly own: OwnAccount;
  readonly rest: RepoRest;
  readonly reviews: RepoHostBReviews;

  /** `askNameEveryMs` is the least pause between two questions whose token it is. */
  constructor(apiUrl: string, token: string, askNameEveryMs: number) {
    this.rest = new RepoRest({
      baseUrl: apiUrl,
      token,
      writeEveryMs: WRITE_EVERY_MS,
      // Tokens of persons, projects, groups and apps are all taken this way; in PRIVATE-TOKEN those of apps are not.
      headers: { authorization: `Bearer ${token}` },
    });
    const name = async () =>
      textMember((await this.rest.read('/user', 'the name of its own user')).data, 'username');
    this.own = new OwnAccount(name, askNameEveryMs);
    this.reviews = new RepoHostBReviews(this.rest);
  }

  async postComment(place: RepoPlace, body: string, signal: AbortSignal): Promise<string> {
    const what = `a note on ${nameOf(place)}`;
    const note = place.isInternal === true ? { body, internal: true } : { body };
    // 202 is for commands without a note.
    const data = await this.rest.create(notesOf(place), note, what, signal);
    this.own.note(textMember(data, 'author.username'));
    return idOf(data);
  }

  async changeComment(place: RepoPlace, id: string, body: string, signal: AbortSignal): Promise<void> {
    const note = notesOf(place) + path`/${id}`;
    await this.rest.change('PUT', note, { body }, `a note on ${nameOf(place)}`, signal);
  }

  async findComment(place: RepoPlace, { mark, madeAt, signal }: CommentSearch): Promise<string | undefined> {
    const notes = notesOf(place);
    const since = madeAt - CLOCK_SKEW_MS;
    let isClockWrong = false;
    let page: string | undefined = `${notes}?sort=desc&order_by=created_at&per_page=100`;
    for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
      const { data, link, time } = await this.rest.read(page, `the notes on ${nameOf(place)}`, signal);
      if (!Array.isArray(data))
        throw new DeliveryError(`the host answered the notes on ${nameOf(place)} with no list`);
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
      const { data } = await this.rest.read(member, `whether ${name} may write to ${repository}`, signal);
      const level = memberOf(data, 'access_level');
      if (typeof level !== 'number') throw new DeliveryError(`the host did not say what ${name} may do`);
      return level >= MAY_PUSH && (textMember(data, 'state') ?? 'active') === 'active';
    } catch (error) {
      const fault = error as DeliveryError;
      if (fault.platformCode !== 404) throw withRight(fault, repository);
    }
    try {
      await this.rest.read(projectOf(repository), `whether the token may see ${repository}`, signal);
      return false;
    } catch (error) {
      throw withRight(error as DeliveryError, repository);
    }
  }

  /** Versions that name no id in their events. */
  async #idOf(name: string, signal: AbortSignal): Promise<string | undefined> {
    const users = path`/users?username=${name}`;
    const { data } = await this.rest.read(users, `who ${name} is`, signal);
    const id = numberMember(data, '0.id');
    return id === undefined ? undefined : String(id);
  }
}

/** Of a question who may write: what the token lacks. */
function withRight(fault: DeliveryError, repository: string): DeliveryError {
  if (!fault.isFinal) return fault;
  const { message, platformCode } = fault;
  const right =
    platformCode === 401
      ? 'the token is not valid (any more)'
      : `the token must be one of a member of ${repository} with scope api, to know who may command`;
  return new DeliveryError(`${message}: ${right}`, { cause: fault, platformCode, isFinal: true });
}

function notesOf({ repository, sign, number }: RepoPlace): string {
  return `${projectOf(repository)}/${sign === '!' ? 'merge_requests' : 'issues'}/${number}/notes`;
}
