// What went wrong with a request, in words that a model can act on. The host's own words are in it, on one line and cut;
// of an error without an answer, only what kind it was.
//
// A request that writes and got no clear answer may have been carried out: the message says so.

import { ToolError } from '../tool-error.ts';
import type { Headers } from './rate-limit.ts';
import { StillClosed } from './rate-meter.ts';
import type { Clean } from './redaction.ts';
import { keepPair } from './text-page.ts';

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

/** What Octokit rejects with: `response` is missing where there was none. */
interface RequestFault {
  readonly status: number;
  readonly response?: { readonly headers: Headers; readonly data: unknown };
}

export function isRequestFault(error: unknown): error is Error & RequestFault {
  return error instanceof Error && typeof (error as { readonly status?: unknown }).status === 'number';
}

/** `error`, of a request to the host, as what the caller is told. */
export function hostFault(error: unknown, asked: Asked): unknown {
  if (error instanceof ToolError) return error;
  if (error instanceof URIError)
    return new ToolError(
      'An argument holds half of a character, which no address can hold. Send whole characters.',
    );
  const final = finalWithin(error);
  if (final !== undefined) return noAnswer(final, asked);
  if (!isRequestFault(error)) return error;
  if (error.response === undefined) return noAnswer(error, asked);
  const { headers, data } = error.response;
  const reason = reasonOf(data, asked.clean);
  return new HostRefusal(error.status, reason, refusalText(error.status, reason, headers, asked));
}

/**
 * What Octokit wrapped, where no second attempt would mend it: an error of this program's own, a host that was given all
 * the time it has, a connection that is not secure.
 */
export function finalWithin(error: unknown): Error | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (
      cause instanceof ToolError ||
      cause instanceof StillClosed ||
      cause.name === 'TimeoutError' ||
      TLS_CODE.test(ownCode(cause))
    )
      return cause;
  return undefined;
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
  if (/^required/i.test(String(headers['x-github-sso'] ?? '')))
    return ' It has to be authorised for the single sign-on of the organisation.';
  const permissions = headers['x-accepted-github-permissions'];
  if (permissions) return ` It needs the permissions: ${permissions}.`;
  const needed = headers['x-accepted-oauth-scopes'];
  if (!needed) return ' It needs a token with more permissions or scopes.';
  return ` It needs one of the scopes: ${needed}; it has: ${headers['x-oauth-scopes'] || 'none'}.`;
}

/** Errors of a certificate; calling again does not mend them. */
const TLS_CODE = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_)/;
/** The request was not sent. */
const UNSENT_CODE = /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

function noAnswer(error: Error, { isWrite, host, timeoutMs }: Asked): ToolError {
  const code = codeWithin(error);
  if (TLS_CODE.test(code))
    return new ToolError(
      `The connection to ${host} is not secure (${code}), so nothing was sent. The operator has to look at its certificate.`,
    );
  const advice =
    !isWrite || UNSENT_CODE.test(code)
      ? 'Call again later; if it stays, the operator has to look at REPOHOST_API_URL and the network.'
      : 'It is not known whether this was done: look before you call again.';
  if (code === 'TimeoutError')
    return new ToolError(`${host} did not answer within ${timeoutMs / 1000} s. ${advice}`);
  return new ToolError(`${host} could not be reached (${code || 'the connection failed'}). ${advice}`);
}

/** A word of the system's such as `ECONNREFUSED`; never a message. */
function codeWithin(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'TimeoutError') return cause.name;
    if (ownCode(cause) !== '') return ownCode(cause);
  }
  return '';
}

function ownCode(error: Error): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}
