// Errors of remote servers, with a remedy for the person who configured the address (catalog or command
// line). Also decides if the server may have executed the failed request. Text from the server or network is
// truncated and redacted. URLs are shown without query and user name, as these may contain secrets (A9,
// ARCHITECTURE.md).

import { parseJson } from '../../../../config/reader/json-text.ts';
import { proxyFor } from '../../../../libs/rest/proxy.ts';
import { isProxyConnectionError } from '../../../../libs/rest/proxy-connection-error.ts';
import { retryAfterMs } from '../../../../libs/rest/retry-after.ts';
import {
  ConnectionLostError,
  type GatewayError,
  ServerAwayError,
  SessionExpiredError,
  UpstreamProtocolError,
} from '../../../base/errors/errors.ts';

const MAX_SHOWN_CHARS = 300;

/** Removes secrets from a text. */
export interface TextRedactor {
  redact(text: string): string;
}

/** A non-2xx response, with the beginning of the body. */
export interface ErrorResponse {
  readonly method: string;
  readonly url: URL;
  readonly status: number;
  readonly reason: string;
  /** The headers `location`, `retry-after` and `date`. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** False if the body was truncated or incomplete. */
  readonly isWhole: boolean;
}

/** Returns the URL without query, fragment, user name and password. */
export function plainUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/**
 * Returns true if the server may have executed a request that it answered with this status. After a redirect,
 * a 4xx or a 503 it did not (RFC 9110 section 15), except 303, which points to the result.
 */
export function mayHaveExecuted(status: number): boolean {
  return status === 303 || (status >= 500 && status !== 503);
}

/** Returns the error for a non-2xx response: status, address, body and remedy. */
export function refusalError(refusal: ErrorResponse, redactor: TextRedactor): UpstreamProtocolError {
  const status = `${refusal.status} ${refusal.reason}`.trim();
  const body = displayText(refusal.body.toString('utf8'), redactor);
  const bodyText = body === '' ? '' : ` (${body})`;
  // A response without TLS may come from the proxy.
  const proxy = refusal.url.protocol === 'http:' ? proxyFor(refusal.url) : undefined;
  const sender = proxy === undefined ? 'the server' : `the server or the proxy ${proxy.host}`;
  const head = `${sender} responded ${status} to ${refusal.method} ${plainUrl(refusal.url)}${bodyText}`;
  const pauseMs = requestedPauseMs(refusal);
  return new UpstreamProtocolError(redactor.redact(`${head}${advice(refusal, pauseMs)}`), {
    status: refusal.status,
    requestedPauseMs: pauseMs,
  });
}

/**
 * Returns the error for a non-2xx response whose body is the JSON-RPC response to the request, if the server
 * requests a pause. Code and data of the server's error are kept. Undefined for any other body or header; the
 * body is then forwarded unchanged.
 */
export function pausedAnswerError(
  refusal: ErrorResponse,
  redactor: TextRedactor,
): UpstreamProtocolError | undefined {
  const pauseMs = requestedPauseMs(refusal);
  if (pauseMs === undefined) return undefined;
  const { error } = parseJson(refusal.body.toString('utf8'), (_, value) =>
    typeof value === 'string' ? redactor.redact(value) : value,
  ) as { readonly error?: Readonly<Record<string, unknown>> | null };
  if (error === undefined || error === null) return undefined;
  const { code, message, data } = error;
  const { status } = refusal;
  const text = typeof message === 'string' && message !== '' ? message : `the server responded ${status}`;
  return new UpstreamProtocolError(`${text}${pauseAdvice(pauseMs)}`, {
    status,
    requestedPauseMs: pauseMs,
    rpcCode: Number.isInteger(code) ? (code as number) : undefined,
    data: typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : undefined,
  });
}

/** Returns the pause that the server requests; undefined without one, or if it has passed. */
function requestedPauseMs({ headers }: ErrorResponse): number | undefined {
  return retryAfterMs({ get: (name) => headers[name] ?? null }) || undefined;
}

function advice(refusal: ErrorResponse, pauseMs: number | undefined): string {
  const { status, method } = refusal;
  if (status >= 300 && status < 400)
    return `; this redirect is not followed: if ${redirectTarget(refusal)} is right, use it instead of this address`;
  if (status === 401)
    return (
      '; set the header it asks for (`headers:` of this server, `--header` of gateway-stdio), or, if it wants OAuth, ' +
      'run mcp-remote as a local server (`command: npx`, `args: [mcp-remote, <url>]`)'
    );
  if (status === 407) return '; check user name and password in HTTP_PROXY';
  if (status === 403) return '; check the rights of the credentials in its headers';
  if (status === 404 || status === 405)
    return method === 'GET'
      ? '; check the address, and leave `runtime: sse` out if the server speaks Streamable HTTP'
      : '; check the address';
  return pauseMs === undefined ? '' : pauseAdvice(pauseMs);
}

function pauseAdvice(pauseMs: number): string {
  return `; the server asks to wait ${Math.ceil(pauseMs / 1000)} s`;
}

function redirectTarget({ headers, url }: ErrorResponse): string {
  const location = headers.location;
  if (location === undefined || !URL.canParse(location, url.href)) return 'its target';
  return plainUrl(new URL(location, url));
}

/** Returns the error for a response which shows that the server has lost the session. */
export function sessionLostError(
  { status, url, body }: Pick<ErrorResponse, 'status' | 'url' | 'body'>,
  redactor: TextRedactor,
): SessionExpiredError {
  const text = displayText(body.toString('utf8'), redactor);
  const quoted = text === '' ? '' : `: ${text}`;
  return new SessionExpiredError(
    redactor.redact(`the server at ${plainUrl(url)} has lost the session (it responded ${status}${quoted})`),
  );
}

/**
 * Returns the error for a 2xx response that violates the protocol. `what` completes "the server …"; `body` is
 * quoted.
 */
export function protocolError(
  url: URL,
  what: string,
  redactor: TextRedactor,
  body?: Buffer,
): UpstreamProtocolError {
  const text = body === undefined ? '' : displayText(body.toString('utf8'), redactor);
  const quoted = text === '' ? '' : ` (${text})`;
  return new UpstreamProtocolError(redactor.redact(`the server at ${plainUrl(url)} ${what}${quoted}`));
}

/**
 * Error codes of a server that is away. Such a server is parked (its calls are refused) for a second at most
 * (machines/policy.ts). Later calls try it again and wait for the attempt. All of these errors occur quickly.
 * A timeout is not included, because each call would wait for it.
 */
const awayCodes: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN'],
]);

/** Returns the error for a connection that could not be opened (`wasSent: false`) or was lost. */
export function networkError(url: URL, error: Error, wasSent: boolean, redactor: TextRedactor): GatewayError {
  const reason = displayText(reasonOf(error), redactor);
  if (!wasSent) {
    const remedy = isProxyConnectionError(error) ? '' : '; check the address, and that the server runs';
    const message = `could not connect to ${plainUrl(url)}: ${reason}${remedy}`;
    const ErrorClass = awayCodes.has(codeOf(error)) ? ServerAwayError : ConnectionLostError;
    return new ErrorClass(redactor.redact(message), { cause: error });
  }
  // Invalid HTTP (HttpFault in response-head.ts).
  if (codeOf(error).startsWith('HPE_'))
    return protocolError(url, `sent an invalid HTTP response: ${reason}`, redactor);
  return new ConnectionLostError(
    redactor.redact(
      `the connection to ${plainUrl(url)} was lost before the response was complete: ${reason}`,
    ),
    { cause: error },
  );
}

/**
 * Replaces control characters by spaces, redacts, then truncates; truncating first could leave parts of
 * secrets.
 */
function displayText(text: string, redactor: TextRedactor): string {
  const clean = redactor.redact(text.replace(/[\p{Cc}\s]+/gu, ' ').trim());
  return clean.length <= MAX_SHOWN_CHARS ? clean : `${clean.slice(0, MAX_SHOWN_CHARS)}…`;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Returns the message of an error. An AggregateError (several addresses of one host) has none itself. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ');
  return error.message === '' ? codeOf(error) : error.message;
}
