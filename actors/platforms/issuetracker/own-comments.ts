// Which comments this gateway has written: they come back as events, and must not be answered. By the account alone they are not
// known, since a person may write under the one whose token it is.
//
// ITC1  each comment is written with a property that people do not see, and that stands there as soon as the comment does: so it is
//       known whatever process has written it, and however that ended.
// ITC2  the ids that the tracker gave are remembered besides, for a tracker that keeps no properties, and an event waits for what is
//       just being written to its issue.
// ITC3  of a comment under our own account it is asked until it is known, with the event; one of which the tracker says nothing at all counts
//       as ours. While nobody knows which account that is, ids decide where the tracker says nothing: no person's comment waits for that.

import { createHash } from 'node:crypto';
import { path } from '../../../libs/rest/path.ts';
import type { Store } from '../../store/store.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { type AskTracker, TrackerQuestion } from './question.ts';

/** Its key. Whoever sees it does not learn what our triggers are called. */
export const COMMENT_PROPERTY = 'actor-gateway';

const SPACE = 'issuetracker-comments';
/** Events of a comment come within a quarter of an hour, and may come again. */
const KEPT_MS = 7 * 86_400_000;

export interface CommentAsked {
  readonly issue: string;
  readonly id: string;
  /** Whether it was written under our own account; undefined while that is not known. */
  readonly isOwnAccount: boolean | undefined;
}

/** What goes with a comment of a row of the outbox: the same at each attempt. */
export function commentMark(rowId: string): {
  readonly key: string;
  readonly value: { readonly row: string };
} {
  const row = createHash('sha256').update(rowId).digest('hex').slice(0, 32);
  return { key: COMMENT_PROPERTY, value: { row } };
}

/** For one account at a tracker. */
export class OwnComments {
  readonly #ask: AskTracker;
  readonly #account: string;
  /** By issue: what is just being written. Never rejects. */
  readonly #writing = new Map<string, Set<Promise<unknown>>>();
  readonly #store: Pick<Store, 'get' | 'put'>;

  /** `account` is that of the adapter. Ids are saved in `store`. */
  constructor(ask: AskTracker, account: string, store: Pick<Store, 'get' | 'put'>) {
    this.#ask = ask;
    this.#account = account;
    this.#store = store;
  }

  /** Has a comment written to the issue; `write` gives its id. Rejects as that does, and as the store. */
  async write(issue: string, write: () => Promise<string>): Promise<string> {
    const written = write().then(async (id) => {
      await this.#store.put(SPACE, this.#key(id), '', { ttlMs: KEPT_MS });
      return id;
    });
    const writing = written.catch(() => {});
    const all = this.#writing.get(issue) ?? new Set();
    this.#writing.set(issue, all.add(writing));
    try {
      return await written;
    } finally {
      all.delete(writing);
      if (all.size === 0) this.#writing.delete(issue);
    }
  }

  /** Rejects with a DeliveryError while it cannot be found out of our own account. */
  async isOurs({ issue, id, isOwnAccount }: CommentAsked): Promise<boolean> {
    if (isOwnAccount === false) return false;
    // Requests that write have a deadline of their own.
    await Promise.all(this.#writing.get(issue) ?? []);
    if ((await this.#store.get(SPACE, this.#key(id))) !== undefined) return true;
    try {
      const keys = await this.#properties(id);
      return keys === undefined ? isOwnAccount === true : keys.includes(COMMENT_PROPERTY);
    } catch (error) {
      if (isOwnAccount === true) throw error;
      return false;
    }
  }

  /** Undefined where the tracker does not know the comment, or may not be asked for it. */
  async #properties(id: string): Promise<readonly string[] | undefined> {
    const question = new TrackerQuestion(this.#ask, 'whether a comment is one of our own');
    const answer = await question.asked({ path: path`/rest/api/3/comment/${id}/properties` });
    const keys = answer.isOk ? memberOf(answer.json, 'keys') : undefined;
    if (Array.isArray(keys)) return keys.flatMap((each) => textMember(each, 'key') ?? []);
    const fault = question.faultOf(answer);
    if (fault.isFinal) return undefined;
    throw fault;
  }

  #key(id: string): string {
    return `${this.#account}/${id}`;
  }
}
