// What Playwright throws, in words for a model: why an element cannot be used, why an address cannot be loaded. What is not
// known here stays what it is, and reaches the operator only.

import { ToolError } from '../../tool-error.ts';

const OBSTACLES: readonly (readonly [RegExp, (found: RegExpExecArray) => string])[] = [
  [/(<[^\n]{1,200}>)[^\n]* intercepts pointer events/, ([, what]) => `it is covered by ${what}`],
  [/element is not visible/, () => 'it is not visible'],
  [/element is not enabled/, () => 'it is disabled'],
  [/element is not editable/, () => 'it is read-only'],
  [/element is outside of the viewport/, () => 'it cannot be scrolled into view'],
  [/element is not stable/, () => 'it keeps moving'],
  [
    /element was detached from the DOM|element is not attached/,
    () => 'it was removed from the page meanwhile',
  ],
];

const NET_ERRORS: readonly (readonly [RegExp, string])[] = [
  [/ERR_CERT_|ERR_SSL_|ERR_BAD_SSL/, 'its TLS certificate or connection is not trusted'],
  [/ERR_TOO_MANY_REDIRECTS/, 'it redirects without end'],
  [/ERR_EMPTY_RESPONSE/, 'the server closed the connection without an answer'],
  [/ERR_CONNECTION_(RESET|CLOSED|ABORTED)/, 'the server broke the connection off'],
  [
    /ERR_INVALID_AUTH_CREDENTIALS/,
    'it asks for a user name and a password (HTTP authentication); they can be given in the address, as in https://name:password@host/',
  ],
  [/ERR_UNSAFE_PORT/, 'browsers do not open that port'],
  [/ERR_INVALID_RESPONSE|ERR_INVALID_HTTP_RESPONSE|ERR_RESPONSE_HEADERS/, 'its answer is not valid HTTP'],
  [/ERR_UNKNOWN_URL_SCHEME|ERR_DISALLOWED_URL_SCHEME/, 'only http: and https: are served'],
  [/ERR_ABORTED/, 'there is no page: the server sent none (204), or the page stopped the loading'],
  [/ERR_BLOCKED_BY/, 'the browser blocked it'],
];

/** Why an address could not be loaded; undefined when `error` is not about that. */
export function netReason(error: unknown): string | undefined {
  const text = error instanceof Error ? error.message : '';
  const code = /net::(ERR_\w+)/.exec(text)?.[1];
  if (code === undefined) return undefined;
  return NET_ERRORS.find(([sign]) => sign.test(code))?.[1] ?? `the browser says ${code}`;
}

/** What stands in the way of an element, from the log of a wait that was in vain. */
export function obstacleOf(error: unknown): string {
  const text = error instanceof Error ? error.message : '';
  for (const [sign, words] of OBSTACLES) {
    const found = sign.exec(text);
    if (found !== null) return words(found);
  }
  return 'the page did not answer in time';
}

export function isTimeout(error: unknown): boolean {
  // By name: the class would have to be loaded with all of Playwright.
  return error instanceof Error && error.name === 'TimeoutError' && error.message.includes('exceeded');
}

/** `error`, or what it means for the caller. */
export function failureOf(error: unknown): unknown {
  if (error instanceof ToolError || !(error instanceof Error)) return error;
  const { message } = error;
  if (
    /while parsing (css )?selector|is not a valid selector|Unknown engine|Unsupported token|Malformed selector/i.test(
      message,
    )
  )
    return new ToolError(
      `That is no CSS selector: ${firstLine(message)}. Give one such as #id, .class, [name="q"] or ul > li:nth-child(2), ` +
        'or a reference from browser_snapshot such as ref=e12.',
    );
  if (
    /Execution context was destroyed|Inspected target navigated|frame was detached|Cannot find context/i.test(
      message,
    )
  )
    return new ToolError('The page navigated meanwhile. Look at it with browser_snapshot, then try again.');
  if (/Target (page, context or browser|closed)|has been closed|Target crashed|Session closed/i.test(message))
    return new ToolError('The page was closed meanwhile. Call browser_navigate to go on.');
  if (isTimeout(error)) return new ToolError(`The element cannot be used: ${obstacleOf(error)}.`);
  return error;
}

function firstLine(message: string): string {
  const line = message.split('\n', 1)[0] ?? '';
  return line.replace(/^\w+\.\w+: /, '').replace(/^Error: /, '');
}
