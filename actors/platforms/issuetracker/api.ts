// REST client for the comments of issues. The token is only in the Authorization header.
//
// The client does not repeat requests: the caller checks if the first one was executed. Every request has a
// deadline. Rate limits are applied by the caller (outbound.ts).

import type { ApiRequest, ApiResponse, HttpApi } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { requestError } from '../../events/outbox/platform-errors.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { TrackerDocument } from './document/nodes.ts';
import { deliveryErrorOf } from './errors.ts';

const REQUEST_MS = 20_000;
const COMMENTS_OF_PAGE = 50;
/** Maximum page size: comments of maximum length. */
const MAX_PAGE_BYTES = 16_777_216;

/** A comment property, invisible to people. */
export interface CommentProperty {
  readonly key: string;
  readonly value: unknown;
}

export interface WrittenComment {
  readonly id: string;
  /** Account id of the author; undefined if the tracker omits it. */
  readonly author: string | undefined;
}

/** A comment in a list response. */
export interface ListedComment extends WrittenComment {
  readonly body: unknown;
  /** Epoch ms; undefined if the tracker omits it. */
  readonly createdAt: number | undefined;
  /** Undefined if the tracker does not list properties. */
  readonly properties: readonly unknown[] | undefined;
}

export interface CommentPage {
  readonly comments: readonly ListedComment[];
  /** Start index of the next page; undefined on the last page. */
  readonly next: number | undefined;
  /** Time by the tracker's clock, epoch ms; undefined if the tracker omits it. */
  readonly time: number | undefined;
}

export class IssueTrackerApi {
  readonly #api: HttpApi;

  /** `api` has the tracker's address and credentials. */
  constructor(api: HttpApi) {
    this.#api = api;
  }

  /** Posts a comment. Rejects with a DeliveryError. */
  async post(
    issue: string,
    body: TrackerDocument,
    properties: readonly CommentProperty[],
    signal: AbortSignal,
  ): Promise<WrittenComment> {
    const request = { method: 'POST', path: commentsOf(issue), json: { body, properties }, signal };
    const response = await this.#send(request, `a comment on ${issue}`);
    // The 200 page from a proxy contains no comment id.
    if (response.status === 201 || (response.isOk && idIn(response.json) !== ''))
      return commentIn(response.json);
    throw deliveryErrorOf(response);
  }

  /** Edits a comment; can be repeated safely. Rejects with a DeliveryError. */
  async change(issue: string, id: string, body: TrackerDocument, signal: AbortSignal): Promise<void> {
    const request = { method: 'PUT', path: `${commentsOf(issue)}${path`/${id}`}`, json: { body }, signal };
    const response = await this.#send(request, `a comment on ${issue}`);
    if (!response.isOk || idIn(response.json) === '') throw deliveryErrorOf(response);
  }

  /** Returns a page of comments, newest first. Rejects with a DeliveryError. */
  async newestComments(issue: string, startAt: number, signal: AbortSignal): Promise<CommentPage> {
    const query = { orderBy: '-created', startAt, maxResults: COMMENTS_OF_PAGE, expand: 'properties' };
    const request = { path: commentsOf(issue), query, maxAnswerBytes: MAX_PAGE_BYTES, signal };
    const response = await this.#send(request, `the comments on ${issue}`);
    const listed = memberOf(response.json, 'comments');
    if (!response.isOk || !Array.isArray(listed)) throw deliveryErrorOf(response);
    const next = startAt + listed.length;
    const total = memberOf(response.json, 'total');
    const isLast =
      listed.length === 0 || (typeof total === 'number' ? next >= total : listed.length < COMMENTS_OF_PAGE);
    const time = Date.parse(response.headers.get('date') ?? '');
    return {
      comments: listed.map(listedCommentIn),
      next: isLast ? undefined : next,
      time: Number.isNaN(time) ? undefined : time,
    };
  }

  /**
   * Returns the comments with these ids and their properties, unordered; [] if the tracker lacks this
   * request. Rejects with a DeliveryError.
   */
  async commentsWithProperties(
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly ListedComment[]> {
    const response = await this.#send(
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
    const listed = memberOf(response.json, 'values');
    if (response.isOk) return Array.isArray(listed) ? listed.map(listedCommentIn) : [];
    const fault = deliveryErrorOf(response);
    if (fault.isFinal) return [];
    throw fault;
  }

  async #send(request: ApiRequest, what: string): Promise<ApiResponse> {
    return this.#api.request({ timeoutMs: REQUEST_MS, ...request }).catch((error: unknown) => {
      throw requestError(error, what);
    });
  }
}

const commentsOf = (issue: string) => path`/rest/api/3/issue/${issue}/comment`;

function commentIn(comment: unknown): WrittenComment {
  return { id: idIn(comment), author: textMember(comment, 'author.accountId', 'author.name') };
}

function listedCommentIn(comment: unknown): ListedComment {
  const createdAt = Date.parse(textMember(comment, 'created') ?? '');
  const properties = memberOf(comment, 'properties');
  return {
    ...commentIn(comment),
    body: memberOf(comment, 'body'),
    createdAt: Number.isNaN(createdAt) ? undefined : createdAt,
    properties: Array.isArray(properties) ? properties : undefined,
  };
}

/** Returns the id; '' if missing. */
function idIn(comment: unknown): string {
  const id = memberOf(comment, 'id');
  return typeof id === 'number' || typeof id === 'string' ? String(id) : '';
}
