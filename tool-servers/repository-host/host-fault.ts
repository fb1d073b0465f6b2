// What went wrong with a request, in words that a model can act on. The host's own words are in it, on one line and cut;
// of an error without an answer, only what kind it was.
//
// A request that writes and got no clear answer may have been carried out: the message says so.

import type { ApiAnswer } from '../../libs/rest/http-api.ts';
import { RequestFault } from '../../libs/rest/request-fault.ts';
import type { Clean } from '../../libs/rest/without-secrets.ts';
import { ToolError } from '../tool-error.ts';
import { keepPair } from './text-page.ts';

export const MAX_ANSWER_BYTES = 24 * 1024 * 1024;
const MAX_REASON_CHARS = 600;

/** The host answered, and refused. Tools catch it where they know more about the reason. */
export class HostRefusal extends ToolError {
  readonly status: number;
  /** What the host said. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export interface Asked {
  readonly isWrite: boolean;
  readonly hasToken: boolean;
  /** Name and port of the host. */
  readonly host: string;
  readonly timeoutMs: number;
  readonly clean: Clean;
}

/** Whether a request that writes was carried out, by the status of its answer. */
export function wasTaken(status: number): boolean {
  return status < 300 || status === 303;
}

/** What is said of a request that writes and was taken, but whose answer is none. */
export function whatWasTaken(status: number): string {
  return `The host took this (${status}), so it was probably done, but its answer cannot be read: look before you call again.`;
}

/** An answer that refuses, or that there was none, as what the caller is told. */
export function hostFault(came: ApiAnswer | RequestFault, asked: Asked): ToolError {
  if (came instanceof RequestFault) return noAnswer(came, asked);
  const { status, headers, json } = came;
  const reason = reasonOf(json, asked.clean);
  return new HostRefusal(status, reason, refusalText(status, reason, headers, asked));
}

/** The host's message and, where there are any, its list of errors, on one line. */
function reasonOf(data: unknown, clean: Clean): string {
  if (typeof data !== 'object' || data === null) return '';
  const { message, errors } = data as { readonly message?: unknown; readonly errors?: unknown };
  const listed = Array.isArray(errors) ? errors.map(oneError).filter((each) => each !== '') : [];
  const said = typeof message === 'string' ? message : '';
  const whole = [listed.length > 0 ? said.replace(/\.$/, '') : said, listed.join('; ')]
    .filter((each) => each !== '')
    .join(': ');
  const line = clean(whole.replace(/\s+/g, ' ').trim());
  return line.length > MAX_REASON_CHARS ? `${line.slice(0, keepPair(line, MAX_REASON_CHARS))}…` : line;
}

function oneError(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null) return '';
  const { message, resource, field, code } = error as Record<string, unknown>;
  if (typeof message === 'string' && message !== '') return message;
  return [resource, field, code].filter((each) => typeof each === 'string').join(' ');
}

function refusalText(status: number, reason: string, headers: Headers, asked: Asked): string {
  const said = `The host answered ${status}${reason === '' ? '' : ` (${reason})`}.`;
  return [said, adviceOn(status, headers, asked)].filter((each) => each !== '').join(' ');
}

function adviceOn(status: number, headers: Headers, { isWrite, hasToken }: Asked): string {
  switch (status) {
    case 401:
      return hasToken
        ? 'The token is not valid, or no longer: the operator has to set a new one in REPOHOST_PERSONAL_ACCESS_TOKEN.'
        : 'This needs a token: the operator has to set REPOHOST_PERSONAL_ACCESS_TOKEN.';
    case 403:
      return hasToken
        ? `The token may not do this.${scopesAdvice(headers)}`
        : 'This server has no token: the operator has to set REPOHOST_PERSONAL_ACCESS_TOKEN.';
    case 404:
      return hasToken
        ? 'It does not exist, or the token may not see it. Check owner, repo and number or name; a private repository needs a token with access to it.'
        : 'It does not exist, or it is private: this server has no token. Check owner, repo and number or name.';
    case 409:
      return 'This is in conflict with how things stand at the host. Read them again, then decide.';
    case 410:
      return 'It was deleted, or this feature is switched off for the repository.';
    case 422:
      return 'The host does not accept these values. Correct them, then call again.';
    case 451:
      return 'It is blocked for legal reasons; calling again changes nothing.';
    default:
      if (status < 500) return 'Calling again with the same arguments changes nothing.';
      return isWrite
        ? 'The host has a fault, and it is not known whether this was done: look before you call again.'
        : 'The host has a fault; this was tried several times. Call again later.';
  }
}

function scopesAdvice(headers: Headers): string {
  if (/^required/i.test(headers.get('x-github-sso') ?? ''))
    return ' It has to be authorised for the single sign-on of the organisation.';
  const permissions = headers.get('x-accepted-github-permissions');
  if (permissions) return ` It needs the permissions: ${permissions}.`;
  const needed = headers.get('x-accepted-oauth-scopes');
  if (!needed) return ' It needs a token with more permissions or scopes.';
  return ` It needs one of the scopes: ${needed}; it has: ${headers.get('x-oauth-scopes') || 'none'}.`;
}

const LOOK_FIRST = 'It is not known whether this was done: look before you call again.';

function noAnswer({ kind, code, mayHaveArrived, status }: RequestFault, asked: Asked): ToolError {
  const { isWrite, host, timeoutMs } = asked;
  if (kind === 'insecure')
    return new ToolError(
      `The connection to ${host} is not secure (${code}), so nothing was sent. The operator has to look at its certificate.`,
    );
  if (kind === 'too-large')
    return new ToolError(
      `The host's answer is larger than ${MAX_ANSWER_BYTES / 1024 / 1024} MiB, which is more than this server reads. ${tooLargeAdvice(status ?? 0, isWrite)}`,
    );
  if (kind === 'redirected')
    return new ToolError(isWrite && mayHaveArrived ? whatWasTaken(status ?? 0) : redirectAdvice(code));
  const advice =
    isWrite && mayHaveArrived
      ? LOOK_FIRST
      : 'Call again later; if it stays, the operator has to look at REPOHOST_API_URL and the network.';
  if (kind === 'timeout')
    return new ToolError(`${host} did not answer within ${timeoutMs / 1000} s. ${advice}`);
  return new ToolError(`${host} could not be reached (${code || 'the connection failed'}). ${advice}`);
}

function tooLargeAdvice(status: number, isWrite: boolean): string {
  if (!isWrite) return 'Ask for less: a smaller page, or one file.';
  return wasTaken(status) ? whatWasTaken(status) : LOOK_FIRST;
}

function redirectAdvice(code: string): string {
  if (code === 'elsewhere')
    return 'The host sent this request on to another host. It was not followed, since the token is for this one alone.';
  if (code === 'moved')
    return 'This repository has moved, and nothing was written. Ask for it with a reading tool to learn its new name, and call again with that.';
  return 'The host sent this request in circles. Check owner and repo.';
}
