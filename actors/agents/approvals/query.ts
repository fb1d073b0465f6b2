// Parses requests about approvals: list queries and decision bodies. All limits are checked here.

import { parseMembers } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';
import { parseChoice, parseQuery, parseWholeNumber } from '../../base/errors/query-values.ts';
import type { ApprovalFilter, ApprovalState } from '../../store/approval.ts';

const STATES: readonly ApprovalState[] = ['pending', 'approved', 'denied', 'expired', 'cancelled'];
const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const MAX_NAME = 200;
const MAX_COMMENT = 2_000;

const FIELDS = ['state', 'run', 'before', 'limit'] as const;

/**
 * Parses `state` (comma-separated), `run`, `before`, `limit`; `fields` restricts the accepted parameters.
 * Throws InvalidQueryError.
 */
export function approvalFilter(
  query: string,
  fields: readonly (typeof FIELDS)[number][] = FIELDS,
): ApprovalFilter {
  const params = parseQuery(query, fields);
  const states = params.get('state');
  const run = params.get('run');
  const before = params.get('before');
  return {
    limit: limitIn(params),
    ...(states === undefined
      ? {}
      : { states: states.split(',').map((state) => parseChoice('state', STATES, state)) }),
    ...(run === undefined ? {} : { run }),
    ...(before === undefined ? {} : { before: positionIn(before) }),
  };
}

function limitIn(params: ReadonlyMap<string, string>): number {
  return parseWholeNumber('limit', params.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT);
}

type PagePosition = NonNullable<ApprovalFilter['before']>;

/** Returns the page token after an approval. Approvals have no sequence numbers. */
export const pageToken = ({ askedAt, id }: PagePosition): string => `${askedAt}-${id}`;

function positionIn(text: string): PagePosition {
  const [, askedAt, id] = /^(\d{1,15})-(\S{1,200})$/.exec(text) ?? [];
  if (askedAt !== undefined && id !== undefined) return { askedAt: Number(askedAt), id };
  throw new InvalidQueryError('before should be the next_before of the previous page');
}

export interface DecisionRequest {
  /** Name of the person for whom the operator decides; undefined: the operator. */
  readonly by: string | undefined;
  readonly comment: string | undefined;
}

/** Parses a decision's optional body. Throws InvalidQueryError. */
export function parseDecision(body: unknown): DecisionRequest {
  if (body === undefined) return { by: undefined, comment: undefined };
  const { by, comment } = parseMembers(body, 'the body', ['by', 'comment']);
  if (
    by !== undefined &&
    !(typeof by === 'string' && by.length <= MAX_NAME && /^[^\p{C}]*[^\p{C}@\s][^\p{C}]*$/u.test(by))
  )
    throw new InvalidQueryError(`by should be a name of at most ${MAX_NAME} printable characters`);
  if (comment !== undefined && !(typeof comment === 'string' && comment.length <= MAX_COMMENT))
    throw new InvalidQueryError(`comment should be a text of at most ${MAX_COMMENT} characters`);
  return { by, comment: comment?.trim() === '' ? undefined : comment?.toWellFormed() };
}
