// Recognises the gateway's own comments, which return as events and must not be answered. The account is not
// sufficient, because a person may also write with the token's account.
//
// - Each comment is created with an invisible property, by which every process recognises it.
// - Ids are also stored, for trackers that lack properties. An event is delayed until concurrent writes to
//   its issue have completed.
// - Checks of comments by the token's account are retried until there is a result. If the tracker does not
//   return the comment, it counts as the gateway's.
// - While the token's account is unknown, a failed check means that a person wrote the comment, so that
//   people get an answer.

import { createHash } from 'node:crypto';
import { path } from '../../../libs/rest/path.ts';
import type { Store } from '../../store/store.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { type SendTrackerRequest, TrackerLookup } from './tracker-lookup.ts';

/** Key of the property. Contains no trigger name, because people can read it. */
export const COMMENT_PROPERTY = 'actor-gateway';

const SPACE = 'issuetracker-comments';
/** Lifetime of stored ids. Comment events arrive within a quarter of an hour, and may be redelivered. */
const RETENTION_MS = 7 * 86_400_000;

export interface CheckedComment {
  readonly issue: string;
  readonly id: string;
  /** True if the author is the token's account; undefined while that account is unknown. */
  readonly isOwnAccount: boolean | undefined;
}

/** Returns the property for a row's comment, equal at each attempt. */
export function commentMark(rowId: string): {
  readonly key: string;
  readonly value: { readonly row: string };
} {
  const row = createHash('sha256').update(rowId).digest('hex').slice(0, 32);
  return { key: COMMENT_PROPERTY, value: { row } };
}

/** The tracker account's own comments. */
export class OwnComments {
  readonly #sendRequest: SendTrackerRequest;
  readonly #account: string;
  /** Writes in progress, by issue. Never reject. */
  readonly #writing = new Map<string, Set<Promise<unknown>>>();
  readonly #store: Pick<Store, 'get' | 'put'>;

  /** `account` is `Adapter.account`. Ids are saved in `store`. */
  constructor(sendRequest: SendTrackerRequest, account: string, store: Pick<Store, 'get' | 'put'>) {
    this.#sendRequest = sendRequest;
    this.#account = account;
    this.#store = store;
  }

  /**
   * Runs `write`, which returns the id of the new comment, and stores the id. Rejects if `write` or the store
   * fails.
   */
  async write(issue: string, write: () => Promise<string>): Promise<string> {
    const stored = write().then(async (id) => {
      await this.#store.put(SPACE, this.#key(id), '', { ttlMs: RETENTION_MS });
      return id;
    });
    const writing = stored.catch(() => {});
    const all = this.#writing.get(issue) ?? new Set();
    this.#writing.set(issue, all.add(writing));
    try {
      return await stored;
    } finally {
      all.delete(writing);
      if (all.size === 0) this.#writing.delete(issue);
    }
  }

  /**
   * Returns true for the gateway's own comment. Rejects with a DeliveryError if a comment by the token's
   * account cannot be checked now.
   */
  async isOurs({ issue, id, isOwnAccount }: CheckedComment): Promise<boolean> {
    if (isOwnAccount === false) return false;
    // Each write has a separate deadline.
    await Promise.all(this.#writing.get(issue) ?? []);
    if ((await this.#store.get(SPACE, this.#key(id))) !== undefined) return true;
    try {
      const keys = await this.#propertyKeys(id);
      // A comment of the token's account that the tracker does not return counts as the gateway's.
      return keys === undefined ? isOwnAccount === true : keys.includes(COMMENT_PROPERTY);
    } catch (error) {
      if (isOwnAccount === true) throw error;
      // The token's account is unknown, so the author may be a person, who should get an answer.
      return false;
    }
  }

  /** Returns the keys of a comment's properties; undefined if the tracker does not return the comment. */
  async #propertyKeys(id: string): Promise<readonly string[] | undefined> {
    const lookup = new TrackerLookup(this.#sendRequest, 'check whether a comment is our own');
    const response = await lookup.send({ path: path`/rest/api/3/comment/${id}/properties` });
    const keys = response.isOk ? memberOf(response.json, 'keys') : undefined;
    if (Array.isArray(keys)) return keys.flatMap((each) => textMember(each, 'key') ?? []);
    const fault = lookup.faultOf(response);
    if (fault.isFinal) return undefined;
    throw fault;
  }

  #key(id: string): string {
    return `${this.#account}/${id}`;
  }
}
