// Says what went wrong with a remote server, in words that whoever gave its address, in a catalog or on a command line,
// can act on, and whether the request may have been carried out. What a server or the network wrote is cut short and
// redacted, and no URL is shown with its query or its user name: both may hold a secret (A9).

import {
  ConnectionLostError,
  type GatewayError,
  SessionExpiredError,
  UpstreamProtocolError,
} from '../../../base/errors/errors.ts';

const SHOWN_CHARS = 300;

export interface Redactor {
  redact(text: string): string;
}

/** An answer whose status is not 2xx, with the beginning of its body. */
export interface Refusal {
  readonly method: string;
  readonly url: URL;
  readonly status: number;
  readonly reason: string;
  /** Those that say where to go, or when to come again: `location`, `retry-after`. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
  /** False when the body was cut, or broke off. */
  readonly isWhole: boolean;
}

/** A URL without query, fragment, user name and password. */
export function plainUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/**
 * Whether a request refused with this status may have been carried out. A redirect, a 4xx and a 503 say that it
 * was not (RFC 9110 section 15), except 303, which points at the result of a request that was.
 */
export function mayBeCarriedOut(status: number): boolean {
  return status === 303 || (status >= 500 && status !== 503);
}

/** The error for an answer whose status is not 2xx: names status, address, body and what to do. */
export function refusalError(refusal: Refusal, redactor: Redactor): UpstreamProtocolError {
  const status = `${refusal.status} ${refusal.reason}`.trim();
  const body = shownText(refusal.body.toString('utf8'), redactor);
  const said = body === '' ? '' : ` (${body})`;
  const head = `the server answered ${status} to ${refusal.method} ${plainUrl(refusal.url)}${said}`;
  return new UpstreamProtocolError(redactor.redact(`${head}${advice(refusal)}`), { status: refusal.status });
}

function advice(refusal: Refusal): string {
  const { status, headers, method } = refusal;
  if (status >= 300 && status < 400)
    return `; redirects are not followed: if ${redirectTarget(refusal)} is right, use it instead of this address`;
  if (status === 401)
    return (
      '; set the header it asks for (`headers:` of this server, `--header` of gateway-stdio), or, if it wants OAuth, ' +
      'run mcp-remote as a local server (`command: npx`, `args: [mcp-remote, <url>]`)'
    );
  if (status === 403) return '; check the rights of the credentials in its headers';
  if (status === 404 || status === 405)
    return method === 'GET'
      ? '; check the address, and leave `runtime: sse` out if the server speaks Streamable HTTP'
      : '; check the address, and set `runtime: sse` if the server speaks the older transport';
  if (headers['retry-after'] !== undefined && /^\d{1,9}$/.test(headers['retry-after']))
    return `; it asks to wait ${headers['retry-after']} s`;
  return '';
}

function redirectTarget({ headers, url }: Refusal): string {
  const location = headers.location;
  if (location === undefined || !URL.canParse(location, url.href)) return 'its target';
  return plainUrl(new URL(location, url));
}

/** The error for a refusal that means that our session is gone. */
export function sessionGoneError({ status, url }: Refusal, redactor: Redactor): SessionExpiredError {
  return new SessionExpiredError(
    redactor.redact(`the server at ${plainUrl(url)} no longer knows our session (it answered ${status})`),
  );
}

/** The error for an answer that breaks the protocol although its status is 2xx; `what` completes "the server …". */
export function protocolError(url: URL, what: string, redactor: Redactor): UpstreamProtocolError {
  return new UpstreamProtocolError(redactor.redact(`the server at ${plainUrl(url)} ${what}`));
}

/** The error for a connection that could not be made (`wasSent: false`) or broke. */
export function networkError(url: URL, error: Error, wasSent: boolean, redactor: Redactor): GatewayError {
  const reason = shownText(reasonOf(error), redactor);
  if (!wasSent)
    return new ConnectionLostError(
      redactor.redact(
        `could not connect to ${plainUrl(url)}: ${reason}; check the address, and that the server runs`,
      ),
      {
        cause: error,
      },
    );
  if (codeOf(error).startsWith('HPE_'))
    return protocolError(url, `answered something that is not HTTP: ${reason}`, redactor);
  return new ConnectionLostError(
    redactor.redact(`the connection to ${plainUrl(url)} broke before the answer was complete: ${reason}`),
    { cause: error },
  );
}

/** Control characters become spaces, secrets go before the text is cut, so that no half of one is left. */
function shownText(text: string, redactor: Redactor): string {
  const clean = redactor.redact(text.replace(/[\p{Cc}\s]+/gu, ' ').trim());
  return clean.length <= SHOWN_CHARS ? clean : `${clean.slice(0, SHOWN_CHARS)}…`;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Trying several addresses of one host ends in an AggregateError that has no message of its own. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ');
  return error.message === '' ? codeOf(error) : error.message;
}
