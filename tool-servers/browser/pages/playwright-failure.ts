// Translates Playwright errors into messages for a model: the obstacle to using an element, or the cause of a
// failed page load. Unknown errors are returned unchanged; tool.ts writes their details to stderr, for the
// operator.

import { ToolError } from '../../tool-error.ts';

const OBSTACLES: readonly (readonly [RegExp, (found: RegExpExecArray) => string])[] = [
  [/(<[^\n]{1,200}>)[^\n]* intercepts pointer events/, ([, cover]) => `it is covered by ${cover}`],
  [/element is not visible/, () => 'it is not visible'],
  [/element is not enabled/, () => 'it is disabled'],
  [/element is not editable/, () => 'it is read-only'],
  [/element is outside of the viewport/, () => 'it cannot be scrolled into view'],
  [/element is not stable/, () => 'it keeps moving'],
  [/element was detached from the DOM|element is not attached/, () => 'it was removed from the page'],
];

const NET_ERRORS: readonly (readonly [RegExp, string])[] = [
  [/ERR_CERT_|ERR_SSL_|ERR_BAD_SSL/, 'its TLS certificate or connection is not trusted'],
  [/ERR_TOO_MANY_REDIRECTS/, 'it redirects endlessly'],
  [/ERR_EMPTY_RESPONSE/, 'the server closed the connection without a response'],
  [/ERR_CONNECTION_(RESET|CLOSED|ABORTED)/, 'the server aborted the connection'],
  [
    /ERR_INVALID_AUTH_CREDENTIALS/,
    'it requires a user name and password (HTTP authentication); pass them in the address, as in https://name:password@host/',
  ],
  [/ERR_UNSAFE_PORT/, 'browsers block this port'],
  [/ERR_INVALID_RESPONSE|ERR_INVALID_HTTP_RESPONSE|ERR_RESPONSE_HEADERS/, 'its response is not valid HTTP'],
  [/ERR_UNKNOWN_URL_SCHEME|ERR_DISALLOWED_URL_SCHEME/, 'only http: and https: are supported'],
  [/ERR_ABORTED/, 'no page was loaded: the server sent none (204), or the page stopped the navigation'],
  [/ERR_BLOCKED_BY/, 'the browser blocked it'],
];

/**
 * Returns the cause of a failed page load; completes "ADDRESS was not loaded: …". Undefined if the error has
 * another origin.
 */
export function netReason(error: unknown): string | undefined {
  const text = error instanceof Error ? error.message : '';
  const code = /net::(ERR_\w+)/.exec(text)?.[1];
  if (code === undefined) return undefined;
  return NET_ERRORS.find(([pattern]) => pattern.test(code))?.[1] ?? `the browser reports ${code}`;
}

/**
 * Returns the obstacle to using an element, from the log in Playwright's timeout error. Completes "ELEMENT
 * cannot be clicked: …".
 */
export function obstacleOf(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  for (const [pattern, describe] of OBSTACLES) {
    const match = pattern.exec(text);
    if (match !== null) return describe(match);
  }
  return 'the page did not respond in time';
}

export function isTimeout(error: unknown): boolean {
  // Compares the name, because the class would require loading Playwright.
  return error instanceof Error && error.name === 'TimeoutError' && error.message.includes('exceeded');
}

/** Returns a ToolError for known errors, otherwise `error`. */
export function toToolError(error: unknown): unknown {
  if (error instanceof ToolError || !(error instanceof Error)) return error;
  const { message } = error;
  if (
    /while parsing (css )?selector|is not a valid selector|Unknown engine|Unsupported token|Malformed selector/i.test(
      message,
    )
  )
    return new ToolError(
      `Invalid CSS selector: ${firstLine(message)}. Pass a selector such as #id, .class, [name="q"] or ul > li:nth-child(2), ` +
        'or a reference from browser_snapshot such as ref=e12.',
    );
  if (
    /Execution context was destroyed|Inspected target navigated|frame was detached|Cannot find context/i.test(
      message,
    )
  )
    return new ToolError('The page navigated during the call. Inspect it with browser_snapshot, then retry.');
  if (/Target (page, context or browser|closed)|has been closed|Target crashed|Session closed/i.test(message))
    return new ToolError('The page was closed during the call. Call browser_navigate to continue.');
  if (isTimeout(error)) return new ToolError(`The element is not usable: ${obstacleOf(error)}.`);
  return error;
}

function firstLine(message: string): string {
  const line = message.split('\n', 1)[0] ?? '';
  return line.replace(/^\w+\.\w+: /, '').replace(/^Error: /, '');
}
