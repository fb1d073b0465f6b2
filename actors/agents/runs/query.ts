// Parses requests about runs: list queries, step queries, and bodies that start runs.

import { type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';
import { parseMembers, parseWaitSeconds } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';
import { parseChoice, parseQuery, parseWholeNumber } from '../../base/errors/query-values.ts';
import { type RunFilter, runKinds } from '../../store/run.ts';
import { deliveryStatesOf, runStates } from './state.ts';

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const NUMBER = Number.MAX_SAFE_INTEGER;

/**
 * Parses `state` (comma-separated), `kind`, `agent`, `fleet`, `flow`, `before`, `limit`. Throws
 * InvalidQueryError.
 */
export function runFilter(query: string): RunFilter {
  const params = parseQuery(query, ['state', 'kind', ...targetKinds, 'before', 'limit']);
  const states = params.get('state');
  const kind = params.get('kind');
  const targetFilters = targetKinds.flatMap((each) => {
    const name = params.get(each);
    return name === undefined ? [] : [{ kind: each, name }];
  });
  if (targetFilters.length + (kind === undefined ? 0 : 1) > 1)
    throw new InvalidQueryError('use only one of kind, agent, fleet and flow');
  const before = params.get('before');
  return {
    limit: parseWholeNumber('limit', params.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT),
    ...(states === undefined
      ? {}
      : {
          states: states
            .split(',')
            .flatMap((state) => deliveryStatesOf(parseChoice('state', runStates, state))),
        }),
    ...(kind === undefined ? {} : { kind: parseChoice('kind', runKinds, kind) }),
    ...targetFilters[0],
    ...(before === undefined ? {} : { beforeSeq: parseWholeNumber('before', before, NUMBER) }),
  };
}

export interface StepsQuery {
  /** Return rows as stored. */
  readonly isRaw: boolean;
  /** Return steps after this number. */
  readonly after: number;
}

/** Parses `raw`, `after`. Throws InvalidQueryError. */
export function stepsQuery(query: string): StepsQuery {
  const params = parseQuery(query, ['raw', 'after']);
  return {
    isRaw: parseChoice('raw', ['true', 'false'], params.get('raw') ?? 'false') === 'true',
    after: parseWholeNumber('after', params.get('after') ?? '0', NUMBER, 0),
  };
}

/** Manual request to an agent, fleet or flow. */
export interface RunRequest {
  readonly input: string;
  /** Only for flows. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Name of the conversation; undefined: a new one. */
  readonly session: string | undefined;
  /** Name of the requester, for approvals and the agent. */
  readonly user: string | undefined;
  /** Maximum wait for the result, in seconds; 0: respond immediately. */
  readonly waitSeconds: number;
}

const MEMBERS = ['input', 'session', 'wait_seconds', 'user'];
const MAX_PARAMETERS = 32;

/** Parses the body. Flows accept parameters, and the input is optional. Throws InvalidQueryError. */
export function runRequest(kind: TargetKind, body: unknown): RunRequest {
  const isFlow = kind === 'flow';
  const members = parseMembers(body ?? {}, 'the body', isFlow ? [...MEMBERS, 'parameters'] : MEMBERS);
  const { session, user } = members;
  const parameters = isFlow ? parametersIn(members.parameters) : {};
  const { input = isFlow ? parametersText(parameters) : undefined } = members;
  if (typeof input !== 'string' || (!isFlow && input.trim() === ''))
    throw new InvalidQueryError(`input should be text${isFlow ? '' : ', and not empty'}`);
  if (session !== undefined && !(typeof session === 'string' && /^[\w.:@+-]{1,128}$/.test(session)))
    throw new InvalidQueryError('session should be 1 to 128 letters, digits or characters of . _ : @ + -');
  if (user !== undefined && !(typeof user === 'string' && /^[^\p{C}]{1,128}$/u.test(user)))
    throw new InvalidQueryError('user should be 1 to 128 printable characters');
  return { input, parameters, session, user, waitSeconds: parseWaitSeconds(members) };
}

function parametersIn(parameters: unknown): Readonly<Record<string, string>> {
  if (parameters === undefined) return {};
  if (typeof parameters !== 'object' || parameters === null || Array.isArray(parameters))
    throw new InvalidQueryError('parameters should be an object of names and texts');
  const members = Object.entries(parameters as Readonly<Record<string, unknown>>);
  if (members.length > MAX_PARAMETERS)
    throw new InvalidQueryError(
      `parameters has ${members.length} members, at most ${MAX_PARAMETERS} are allowed`,
    );
  return Object.fromEntries(
    members.map(([name, value]) => {
      if (typeof value === 'string') return [name, value];
      if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
      throw new InvalidQueryError(`parameters.${name.slice(0, 64)} should be text`);
    }),
  );
}

/** Formats parameters as a person would write them. */
const parametersText = (parameters: Readonly<Record<string, string>>) =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
