// Parses what is asked about runs: the query of a list and of one run, and the body of a request that begins one.

import { type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';
import { membersOf, waitSecondsIn } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';
import { oneOf, queryValues, wholeNumber } from '../../base/errors/query-values.ts';
import { type RunFilter, runKinds } from '../../store/run.ts';
import { deliveryStatesOf, runStates } from './run-state.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const NUMBER = Number.MAX_SAFE_INTEGER;

/** `state` (several by commas), `kind`, `agent`, `fleet`, `flow`, `before`, `limit`. Throws InvalidQueryError. */
export function runFilter(query: string): RunFilter {
  const asked = queryValues(query, ['state', 'kind', ...targetKinds, 'before', 'limit']);
  const states = asked.get('state');
  const kind = asked.get('kind');
  const named = targetKinds.flatMap((each) => {
    const name = asked.get(each);
    return name === undefined ? [] : [{ kind: each, name }];
  });
  if (named.length + (kind === undefined ? 0 : 1) > 1)
    throw new InvalidQueryError('give one of kind, agent, fleet and flow');
  const before = asked.get('before');
  return {
    limit: wholeNumber('limit', asked.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT),
    ...(states === undefined
      ? {}
      : {
          states: states.split(',').flatMap((state) => deliveryStatesOf(oneOf('state', runStates, state))),
        }),
    ...(kind === undefined ? {} : { kind: oneOf('kind', runKinds, kind) }),
    ...named[0],
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

/** What an agent, a fleet or a flow is asked without a trigger. */
export interface RunRequest {
  readonly input: string;
  /** Of a flow. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The conversation; undefined: one of its own. */
  readonly session: string | undefined;
  /** Who asks, as approvals and the agent are told. */
  readonly user: string | undefined;
  /** Answer when the run has ended, or after this long; 0: at once. */
  readonly waitSeconds: number;
}

const MEMBERS = ['input', 'session', 'wait_seconds', 'user'];
const MAX_PARAMETERS = 32;

/** A flow takes parameters, and may do without an input. Throws InvalidQueryError. */
export function runRequest(kind: TargetKind, body: unknown): RunRequest {
  const isFlow = kind === 'flow';
  const given = membersOf(body ?? {}, 'the body', isFlow ? [...MEMBERS, 'parameters'] : MEMBERS);
  const { session, user } = given;
  const parameters = isFlow ? parametersIn(given.parameters) : {};
  const { input = isFlow ? wordsOf(parameters) : undefined } = given;
  if (typeof input !== 'string' || (!isFlow && input.trim() === ''))
    throw new InvalidQueryError(`input should be text${isFlow ? '' : ', and not empty'}`);
  if (session !== undefined && !(typeof session === 'string' && /^[\w.:@+-]{1,128}$/.test(session)))
    throw new InvalidQueryError('session should be 1 to 128 letters, digits or characters of . _ : @ + -');
  if (user !== undefined && !(typeof user === 'string' && /^[^\p{C}]{1,128}$/u.test(user)))
    throw new InvalidQueryError('user should be 1 to 128 printable characters');
  return { input, parameters, session, user, waitSeconds: waitSecondsIn(given) };
}

function parametersIn(given: unknown): Readonly<Record<string, string>> {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new InvalidQueryError('parameters should be an object of texts by their names');
  const members = Object.entries(given as Readonly<Record<string, unknown>>);
  if (members.length > MAX_PARAMETERS)
    throw new InvalidQueryError(`parameters has ${members.length} members, and may have ${MAX_PARAMETERS}`);
  return Object.fromEntries(
    members.map(([name, value]) => {
      if (typeof value === 'string') return [name, value];
      if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
      throw new InvalidQueryError(`parameters.${name.slice(0, 64)} should be text`);
    }),
  );
}

/** As somebody would have written them. */
const wordsOf = (parameters: Readonly<Record<string, string>>) =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
