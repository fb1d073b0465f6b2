// Error messages for failed requests. If the host responded, they contain its message (one line, truncated)
// and a remedy; otherwise the kind of failure.
//
// If a writing request may have been executed nevertheless, the message mentions this.

import type { ApiResponse } from '../../libs/rest/http-api.ts';
import { RequestFault } from '../../libs/rest/request-fault.ts';
import type { Clean } from '../../libs/rest/without-secrets.ts';
import { ToolError } from '../tool-error.ts';
import { characterStart } from './text-page.ts';

export const MAX_RESPONSE_BYTES = 24 * 1024 * 1024;
const MAX_REASON_CHARS = 600;

/** Error response of the host. Tools catch it to add details. */
export class HostRefusal extends ToolError {
  readonly status: number;
  /** Message of the host. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

export interface RequestContext {
  readonly isWrite: boolean;
  readonly hasToken: boolean;
  /** Host name and port. */
  readonly host: string;
  readonly timeoutMs: number;
  readonly clean: Clean;
}

/** Returns true for status codes after which a writing request was executed. */
export function wasAccepted(status: number): boolean {
  return status < 300 || status === 303;
}

/** Returns the message for executed requests whose response is unreadable. */
export function acceptedMessage(status: number): string {
  return `The host accepted the request (${status}), so it was probably executed, but the response is unreadable: check the state before you retry.`;
}

/** Converts an error response or a failed request to an error for the caller. */
export function toHostError(outcome: ApiResponse | RequestFault, context: RequestContext): ToolError {
  if (outcome instanceof RequestFault) return noResponseError(outcome, context);
  const { status, headers, json } = outcome;
  const reason = reasonOf(json, context.clean);
  return new HostRefusal(status, reason, refusalText(status, reason, headers, context));
}

/** Returns the host's message and list of errors on one line. */
function reasonOf(data: unknown, clean: Clean): string {
  if (typeof data !== 'object' || data === null) return '';
  const { message, errors } = data as { readonly message?: unknown; readonly errors?: unknown };
  const errorTexts = Array.isArray(errors) ? errors.map(errorText).filter((each) => each !== '') : [];
  const text = typeof message === 'string' ? message : '';
  const fullText = [errorTexts.length > 0 ? text.replace(/\.$/, '') : text, errorTexts.join('; ')]
    .filter((each) => each !== '')
    .join(': ');
  const line = clean(fullText.replace(/\s+/g, ' ').trim());
  return line.length > MAX_REASON_CHARS ? `${line.slice(0, characterStart(line, MAX_REASON_CHARS))}…` : line;
}

function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null) return '';
  const { message, resource, field, code } = error as Record<string, unknown>;
  if (typeof message === 'string' && message !== '') return message;
  return [resource, field, code].filter((each) => typeof each === 'string').join(' ');
}

function refusalText(status: number, reason: string, headers: Headers, context: RequestContext): string {
  const summary = `The host responded with ${status}${reason === '' ? '' : ` (${reason})`}.`;
  return [summary, adviceOn(status, headers, context)].filter((each) => each !== '').join(' ');
}

function adviceOn(status: number, headers: Headers, { isWrite, hasToken }: RequestContext): string {
  switch (status) {
    case 401:
      return hasToken
        ? 'The token is invalid or expired: the operator must set a new one in REPOHOST_PERSONAL_ACCESS_TOKEN.'
        : 'This requires a token: the operator must set REPOHOST_PERSONAL_ACCESS_TOKEN.';
    case 403:
      return hasToken
        ? `The token has no permission for this.${scopesAdvice(headers)}`
        : 'This server has no token: the operator must set REPOHOST_PERSONAL_ACCESS_TOKEN.';
    case 404:
      return hasToken
        ? 'It does not exist, or the token has no access. Check owner, repo and number or name; a private repository requires a token with access.'
        : 'It does not exist, or it is private: this server has no token. Check owner, repo and number or name.';
    case 409:
      return 'This conflicts with the current state at the host. Read the state again, then decide.';
    case 410:
      return 'It was deleted, or this feature is disabled for the repository.';
    case 422:
      return 'The host rejects these values. Correct them, then call again.';
    case 451:
      return 'It is blocked for legal reasons; do not retry.';
    default:
      if (status < 500) return 'Do not retry with the same arguments.';
      return isWrite
        ? 'Internal error of the host; the outcome is unknown: check the state before you retry.'
        : 'Internal error of the host after several attempts. Retry later.';
  }
}

function scopesAdvice(headers: Headers): string {
  if (/^required/i.test(headers.get('x-github-sso') ?? ''))
    return ' It must be authorised for the single sign-on of the organisation.';
  const permissions = headers.get('x-accepted-github-permissions');
  if (permissions) return ` Required permissions: ${permissions}.`;
  const needed = headers.get('x-accepted-oauth-scopes');
  if (!needed) return ' A token with more permissions or scopes is required.';
  return ` Required scopes (one of): ${needed}; present: ${headers.get('x-oauth-scopes') || 'none'}.`;
}

const CHECK_FIRST = 'The outcome is unknown: check the state before you retry.';

function noResponseError(
  { kind, code, mayHaveArrived, status }: RequestFault,
  context: RequestContext,
): ToolError {
  const { isWrite, host, timeoutMs } = context;
  if (kind === 'insecure')
    return new ToolError(
      `The connection to ${host} is not secure (${code}), so nothing was sent. The operator must check its certificate.`,
    );
  if (kind === 'too-large')
    return new ToolError(
      `The response of the host exceeds the limit of ${MAX_RESPONSE_BYTES / 1024 / 1024} MiB. ${tooLargeAdvice(status ?? 0, isWrite)}`,
    );
  if (kind === 'redirected')
    return new ToolError(isWrite && mayHaveArrived ? acceptedMessage(status ?? 0) : redirectAdvice(code));
  const advice =
    isWrite && mayHaveArrived
      ? CHECK_FIRST
      : 'Retry later; if the error persists, the operator must check REPOHOST_API_URL and the network.';
  if (kind === 'timeout')
    return new ToolError(`${host} did not respond within ${timeoutMs / 1000} s. ${advice}`);
  return new ToolError(`${host} could not be reached (${code || 'the connection failed'}). ${advice}`);
}

function tooLargeAdvice(status: number, isWrite: boolean): string {
  if (!isWrite) return 'Request less data: a smaller page, or one file.';
  return wasAccepted(status) ? acceptedMessage(status) : CHECK_FIRST;
}

function redirectAdvice(code: string): string {
  if (code === 'elsewhere')
    return 'The host redirected the request to another host. It was not followed, because the token is valid for this host only.';
  if (code === 'moved')
    return 'This repository has moved, and nothing was written. Read it to get its new name, then retry with that name.';
  return 'The host redirected the request in a loop. Check owner and repo.';
}
