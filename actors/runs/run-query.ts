// Parses what is asked about runs: the query of a list and of one run, and the body of a request that begins one.

import { membersOf, waitSecondsIn } from '../automation/operator/body-members.ts';
import { oneOf, queryValues, wholeNumber } from '../automation/operator/query-values.ts';
import { InvalidQueryError } from '../errors.ts';
import type { RunFilter } from '../store/run.ts';
import { deliveryStatesOf, runStates } from './run-state.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const NUMBER = Number.MAX_SAFE_INTEGER;

/** `state` (several by commas), `agent`, `before`, `limit`. Throws InvalidQueryError. */
export function runFilter(query: string): RunFilter {
  const asked = queryValues(query, ['state', 'agent', 'before', 'limit']);
  const states = asked.get('state');
  const agent = asked.get('agent');
  const before = asked.get('before');
  return {
    limit: wholeNumber('limit', asked.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT),
    ...(states === undefined
      ? {}
      : {
          states: states.split(',').flatMap((state) => deliveryStatesOf(oneOf('state', runStates, state))),
        }),
    ...(agent === undefined ? {} : { kind: 'agent', name: agent }),
    ...(before === undefined ? {} : { beforeSeq: wholeNumber('before', before, NUMBER) }),
  };
}

export interface StepsQuery {
  /** Rows as they are stored. */
  readonly isRaw: boolean;
  /** Steps after that one. */
  readonly after: number;
}

/** `raw`, `after`. Throws InvalidQueryError. */
export function stepsQuery(query: string): StepsQuery {
  const asked = queryValues(query, ['raw', 'after']);
  return {
    isRaw: oneOf('raw', ['true', 'false'], asked.get('raw') ?? 'false') === 'true',
    after: wholeNumber('after', asked.get('after') ?? '0', NUMBER, 0),
  };
}

/** What an agent is asked without a trigger. */
export interface AgentRequest {
  readonly input: string;
  /** The conversation; undefined: one of its own. */
  readonly session: string | undefined;
  /** Who asks, as approvals and the agent are told. */
  readonly user: string | undefined;
  /** Answer when the run has ended, or after this long; 0: at once. */
  readonly waitSeconds: number;
}

const MEMBERS = ['input', 'session', 'wait_seconds', 'user'];

/** Throws InvalidQueryError. */
export function agentRequest(body: unknown): AgentRequest {
  const given = membersOf(body, 'the body', MEMBERS);
  const { input, session, user } = given;
  if (typeof input !== 'string' || input.trim() === '')
    throw new InvalidQueryError('input should be text, and not empty');
  if (session !== undefined && !(typeof session === 'string' && /^[\w.:@+-]{1,128}$/.test(session)))
    throw new InvalidQueryError('session should be 1 to 128 letters, digits or characters of . _ : @ + -');
  if (user !== undefined && !(typeof user === 'string' && /^[^\p{C}]{1,128}$/u.test(user)))
    throw new InvalidQueryError('user should be 1 to 128 printable characters');
  return { input, session, user, waitSeconds: waitSecondsIn(given) };
}
