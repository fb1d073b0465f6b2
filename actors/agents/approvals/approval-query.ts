// Parses what is asked about approvals: the query of a list, and the body of a decision. Every bound is checked here.

import { membersOf } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';
import { oneOf, queryValues, wholeNumber } from '../../base/errors/query-values.ts';
import type { ApprovalFilter, ApprovalState } from '../../store/approval.ts';

const STATES: readonly ApprovalState[] = ['pending', 'approved', 'denied', 'expired', 'cancelled'];
const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const MAX_NAME = 200;
const MAX_COMMENT = 2_000;

const FIELDS = ['state', 'run', 'before', 'limit'] as const;

/** `state` (several by commas), `run`, `before`, `limit`, or those of them that may be asked. Throws InvalidQueryError. */
export function approvalFilter(
  query: string,
  fields: readonly (typeof FIELDS)[number][] = FIELDS,
): ApprovalFilter {
  const asked = queryValues(query, fields);
  const states = asked.get('state');
  const run = asked.get('run');
  const before = asked.get('before');
  return {
    limit: limitIn(asked),
    ...(states === undefined
      ? {}
      : { states: states.split(',').map((state) => oneOf('state', STATES, state)) }),
    ...(run === undefined ? {} : { run }),
    ...(before === undefined ? {} : { before: placeIn(before) }),
  };
}

function limitIn(asked: ReadonlyMap<string, string>): number {
  return wholeNumber('limit', asked.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT);
}

type Place = NonNullable<ApprovalFilter['before']>;

/** Where a page has ended, as whoever asks for the next one is told it; approvals have no numbers. */
export const nameOfPlace = ({ askedAt, id }: Place): string => `${askedAt}-${id}`;

function placeIn(text: string): Place {
  const [, askedAt, id] = /^(\d{1,15})-(\S{1,200})$/.exec(text) ?? [];
  if (askedAt !== undefined && id !== undefined) return { askedAt: Number(askedAt), id };
  throw new InvalidQueryError('before should be the next_before of a page before');
}

export interface AskedDecision {
  /** In whose name; undefined: the operator's own. */
  readonly by: string | undefined;
  readonly comment: string | undefined;
}

/** Of a body that may be missing. Throws InvalidQueryError. */
export function askedDecision(body: unknown): AskedDecision {
  if (body === undefined) return { by: undefined, comment: undefined };
  const { by, comment } = membersOf(body, 'the body', ['by', 'comment']);
  if (
    by !== undefined &&
    !(typeof by === 'string' && by.length <= MAX_NAME && /^[^\p{C}]*[^\p{C}@\s][^\p{C}]*$/u.test(by))
  )
    throw new InvalidQueryError(`by should be a name of at most ${MAX_NAME} printable characters`);
  if (comment !== undefined && !(typeof comment === 'string' && comment.length <= MAX_COMMENT))
    throw new InvalidQueryError(`comment should be a text of at most ${MAX_COMMENT} characters`);
  return { by, comment: comment?.trim() === '' ? undefined : comment?.toWellFormed() };
}
