// The tracker's REST API, as far as comments go. Whoever asks has the token in the Authorization header and nowhere else.
//
// TA1  nothing is sent twice from here: whether the first arrived is found out by whoever comes again.
//
// Every request has a deadline; none waits here for its turn.

import type { ApiAnswer, ApiRequest, HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { sendingFault } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { TrackerDocument } from './document/nodes.ts';
import { deliveryErrorOf } from './errors.ts';

const REQUEST_MS = 20_000;
const COMMENTS_OF_PAGE = 50;
/** Of a page of comments, each as long as they may be. */
const MAX_PAGE_BYTES = 16_777_216;

/** A property of a comment, which people do not see. */
export interface CommentProperty {
  readonly key: string;
  readonly value: unknown;
}

export interface WrittenComment {
  readonly id: string;
  /** Of the account that wrote it; undefined where the tracker does not say. */
  readonly author: string | undefined;
}

/** A comment, as the tracker lists it. */
export interface ListedComment extends WrittenComment {
  readonly body: unknown;
  /** Epoch ms; undefined where the tracker does not say. */
  readonly createdAt: number | undefined;
  /** Undefined where the tracker does not list them. */
  readonly properties: readonly unknown[] | undefined;
}

export interface CommentPage {
  readonly comments: readonly ListedComment[];
  /** Where the next page begins; undefined after the last. */
  readonly next: number | undefined;
  /** What time it is at the tracker, epoch ms; undefined where it does not say. */
  readonly time: number | undefined;
}

export class IssueTrackerApi {
  readonly #api: HttpApi;

  /** `api` has the address of the tracker and the credentials. */
  constructor(api: HttpApi) {
    this.#api = api;
  }

  /** Rejects with a DeliveryError. */
  async post(
    issue: string,
    body: TrackerDocument,
    properties: readonly CommentProperty[],
    signal: AbortSignal,
  ): Promise<WrittenComment> {
    const request = { method: 'POST', path: commentsOf(issue), json: { body, properties }, signal };
    const answer = await this.#answered(request, `a comment on ${issue}`);
    // A page that somebody else answers with is no comment.
    if (answer.status === 201 || (answer.isOk && idIn(answer.json) !== '')) return writtenIn(answer.json);
    throw deliveryErrorOf(answer);
  }

  /** As often as it may be repeated, the comment says the same. Rejects with a DeliveryError. */
  async change(issue: string, id: string, body: TrackerDocument, signal: AbortSignal): Promise<void> {
    const request = { method: 'PUT', path: `${commentsOf(issue)}${path`/${id}`}`, json: { body }, signal };
    const answer = await this.#answered(request, `a comment on ${issue}`);
    if (!answer.isOk || idIn(answer.json) === '') throw deliveryErrorOf(answer);
  }

  /** From `startAt` on, counted from the newest. Rejects with a DeliveryError. */
  async newestComments(issue: string, startAt: number, signal: AbortSignal): Promise<CommentPage> {
    const query = { orderBy: '-created', startAt, maxResults: COMMENTS_OF_PAGE, expand: 'properties' };
    const request = { path: commentsOf(issue), query, maxAnswerBytes: MAX_PAGE_BYTES, signal };
    const answer = await this.#answered(request, `the comments on ${issue}`);
    const listed = memberOf(answer.json, 'comments');
    if (!answer.isOk || !Array.isArray(listed)) throw deliveryErrorOf(answer);
    const next = startAt + listed.length;
    const total = memberOf(answer.json, 'total');
    const isLast =
      listed.length === 0 || (typeof total === 'number' ? next >= total : listed.length < COMMENTS_OF_PAGE);
    const time = Date.parse(answer.headers.get('date') ?? '');
    return {
      comments: listed.map(listedIn),
      next: isLast ? undefined : next,
      time: Number.isNaN(time) ? undefined : time,
    };
  }

  /** With their properties, in no order; empty where the tracker does not list comments so. Rejects with a DeliveryError. */
  async commentsWithProperties(
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly ListedComment[]> {
    const answer = await this.#answered(
      {
        method: 'POST',
        path: '/rest/api/3/comment/list',
        query: { expand: 'properties' },
        json: { ids: ids.map(Number) },
        maxAnswerBytes: MAX_PAGE_BYTES,
        signal,
      },
      'the properties of comments',
    );
    const listed = memberOf(answer.json, 'values');
    if (answer.isOk) return Array.isArray(listed) ? listed.map(listedIn) : [];
    const fault = deliveryErrorOf(answer);
    if (fault.isFinal) return [];
    throw fault;
  }

  async #answered(request: ApiRequest, what: string): Promise<ApiAnswer> {
    return this.#api.request({ timeoutMs: REQUEST_MS, ...request }).catch((error: unknown) => {
      throw sendingFault(error, what);
    });
  }
}

const commentsOf = (issue: string) => path`/rest/api/3/issue/${issue}/comment`;

function writtenIn(comment: unknown): WrittenComment {
  return { id: idIn(comment), author: textMember(comment, 'author.accountId', 'author.name') };
}

function listedIn(comment: unknown): ListedComment {
  const createdAt = Date.parse(textMember(comment, 'created') ?? '');
  const properties = memberOf(comment, 'properties');
  return {
    ...writtenIn(comment),
    body: memberOf(comment, 'body'),
    createdAt: Number.isNaN(createdAt) ? undefined : createdAt,
    properties: Array.isArray(properties) ? properties : undefined,
  };
}

/** Empty where there is none. */
function idIn(comment: unknown): string {
  const id = memberOf(comment, 'id');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : '';
}
