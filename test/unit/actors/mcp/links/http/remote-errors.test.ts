import { describe, expect, test } from 'vitest';
import {
  type ErrorResponse,
  mayHaveExecuted,
  networkError,
  plainUrl,
  refusalError,
} from '../../../../../../actors/mcp/links/http/remote-errors.ts';
import {
  isLostInAnswer,
  isSessionLost,
} from '../../../../../../actors/mcp/links/streamable-http/session-loss.ts';

const redactor = { redact: (text: string) => text.replaceAll('s3cret-value', '[redacted]') };

function refusal(status: number, body = '', headers: ErrorResponse['headers'] = {}): ErrorResponse {
  const url = new URL('https://user:pw@mcp.example.com/mcp?token=abcdef#x');
  return { method: 'POST', url, status, reason: 'Reason', headers, body: Buffer.from(body), isWhole: true };
}

describe('the error for an HTTP error response', () => {
  test('contains the address without user name, query and fragment', () => {
    expect(plainUrl(refusal(500).url)).toBe('https://mcp.example.com/mcp');
    expect(refusalError(refusal(500), redactor).message).toBe(
      'the server responded 500 Reason to POST https://mcp.example.com/mcp',
    );
  });

  test('names for 401 the setting for an authorization header, and a program for OAuth', () => {
    const { message } = refusalError(refusal(401, '{"error":"no token"}'), redactor);
    expect(message).toContain('401');
    expect(message).toContain('{"error":"no token"}');
    expect(message).toContain('`headers:`');
    expect(message).toContain('mcp-remote');
  });

  test('contains the redirect target without its query', () => {
    const { message } = refusalError(refusal(302, '', { location: '/other?code=123456' }), redactor);
    expect(message).toContain('https://mcp.example.com/other is right');
    expect(message).not.toContain('123456');
  });

  test('handles a redirect without a usable target', () => {
    for (const location of [undefined, 'http://', 'https://[::'])
      expect(
        refusalError(refusal(301, '', location === undefined ? {} : { location }), redactor).message,
      ).toContain('its target');
  });

  test('redacts secrets before it cuts the body to 300 characters', () => {
    const body = `${'x'.repeat(295)}s3cret-value and more${'y'.repeat(1000)}`;
    const { message } = refusalError(refusal(400, body), redactor);
    expect(message).toContain(`(${'x'.repeat(295)}[reda…)`);
    expect(message).not.toContain('s3c');
  });

  test('replaces control characters of the body by spaces', () => {
    expect(refusalError(refusal(400, 'a\u001b[31mb\r\n\tc'), redactor).message).toContain('(a [31mb c)');
  });

  test('contains the requested waiting time', () => {
    expect(refusalError(refusal(429, '', { 'retry-after': '17' }), redactor).message).toContain('17 s');
  });
});

test('a request counts as possibly executed only after a response of 303 or 5xx other than 503', () => {
  const all = [301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 408, 409, 413, 429, 500, 501, 502, 503, 504];
  expect(all.filter(mayHaveExecuted)).toEqual([303, 500, 501, 502, 504]);
});

describe('the error for a network failure', () => {
  test('contains the address, and the cause for each attempted address', () => {
    const error = new AggregateError([
      new Error('connect ECONNREFUSED ::1:1'),
      new Error('connect ECONNREFUSED 127.0.0.1:1'),
    ]);
    const { message, code } = networkError(new URL('http://localhost:1/mcp?k=v'), error, false, redactor);
    expect(message).toBe(
      'could not connect to http://localhost:1/mcp: connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1; check the address, and that the server runs',
    );
    expect(code).toBe('ERR_CONNECTION_LOST');
  });

  test('is a protocol error if the server does not speak HTTP', () => {
    const error = Object.assign(new Error('Parse Error: Expected HTTP/'), { code: 'HPE_INVALID_CONSTANT' });
    expect(networkError(new URL('http://h/'), error, true, redactor).code).toBe('ERR_UPSTREAM_PROTOCOL');
  });
});

describe('a remote session is lost', () => {
  const rpc = (message: string, code: number) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message } });

  test('on 404 with any body that is not a JSON-RPC response', () => {
    for (const body of ['', 'Not found', '<html>', 'null', '[]'])
      expect(isSessionLost(refusal(404, body), false)).toBe(true);
  });

  test('on 404 with a response to the request only if it mentions the session', () => {
    expect(isSessionLost(refusal(404, rpc('Method not found', -32601)), true)).toBe(false);
    expect(isSessionLost(refusal(404, rpc('Session not found', -32000)), true)).toBe(true);
    expect(isSessionLost(refusal(404, rpc('Not found', -32001)), true)).toBe(true);
  });

  test('on status 400 with the error message of the SDK examples', () => {
    const body = rpc('Bad Request: No valid session ID provided', -32000);
    expect(isSessionLost(refusal(400, body), false)).toBe(true);
    expect(isSessionLost(refusal(400, rpc('Parse error', -32700)), false)).toBe(false);
  });

  test.each([
    [400, 'Bad Request: Server not initialized'],
    [400, 'Invalid or missing session ID'],
    [400, 'Bad Request: Missing session ID'],
    [400, 'Bad Request: Mcp-Session-Id header is required'],
    [401, 'Unauthorized: Session not found'],
    [403, 'Session does not exist'],
    [409, 'The session has expired'],
    [410, 'Session has been terminated'],
    [422, 'Unexpected message, expect initialize request'],
    [440, 'unknown session 0a1b'],
    [400, 'Bad Request: No valid session ID or not an initialize request'],
    [400, 'Bad Request: Unknown Mcp-Session-Id header'],
    [400, 'Session ID required in mcp-session-id header'],
    [401, 'Invalid or expired session ID'],
    [410, 'Session not found or has expired.'],
    [400, 'the session is no longer valid'],
    [400, 'Session ID abc123 not found'],
    [400, 'Session with id abc1 not found'],
    [400, `Session "work" does not exist`],
    [401, 'session has expired, please re-initialize'],
    [400, 'No valid session ID provided. Send an initialize request'],
  ])('on %s with the text %s, as text, as JSON-RPC error and as other JSON', (status, text) => {
    for (const body of [text, rpc(text, -32000), JSON.stringify({ detail: text })])
      expect([body, isSessionLost(refusal(status, body), false)]).toEqual([body, true]);
  });

  test.each([
    [400, 'Parse error'],
    [400, 'the parameter session_name has a wrong type'],
    [401, 'invalid token'],
    [403, 'session limit reached for this account'],
    [429, 'too many sessions'],
    [500, 'Session not found'],
    [503, 'the session expired'],
    [400, 'Browser session expired, log in again'],
    [401, 'Your login session has expired; sign in again'],
    [403, 'database not initialized'],
    [422, 'Project not initialized, run init'],
    [400, 'Session expired or the disk is full'],
    [403, 'No session or workspace is selected'],
    [401, 'Session cookie has expired'],
  ])('not on %s with the text %s', (status, text) => {
    for (const body of [text, rpc(text, -32000), rpc(text, -32001)])
      for (const isAnswer of [true, false])
        expect(isSessionLost(refusal(status, body), isAnswer)).toBe(false);
  });

  test.each([
    ['Session expired', true],
    ['Bad Request: No valid session ID provided', true],
    ['MCP session not found', true],
    ['Server not initialized', true],
    ['Received request before initialization was complete', true],
    ['Browser session expired, log in again', false],
    ['SSH session lost', false],
    ['unknown tool', false],
    [`Session 'work' not found`, false],
    ['Invalid session id 42', false],
    ['Unknown session: tmux-1', false],
    ['The session name is missing', false],
    ['Invalid arguments: session is required', false],
  ])('in an error response with the text %s: %s', (text, isLost) => {
    expect(isLostInAnswer(Buffer.from(rpc(text, -32000)))).toBe(isLost);
    const result = { error: { code: -32000, message: text } };
    expect(isLostInAnswer(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })))).toBe(false);
  });

  test('in an error response with the code for an unknown session and the id in its text', () => {
    for (const text of ['Session 1234 not found', 'Session not found: 1234', 'Unknown session: tmux-1'])
      expect([text, isLostInAnswer(Buffer.from(rpc(text, -32001)))]).toEqual([text, true]);
    expect(isLostInAnswer(Buffer.from(rpc('Request timed out', -32001)))).toBe(false);
  });

  test('on 410 with a body that is not a JSON-RPC response', () => {
    expect(isSessionLost(refusal(410, 'Gone'), false)).toBe(true);
    expect(isSessionLost(refusal(410, rpc('the tool was removed', -32000)), true)).toBe(false);
  });

  test('not on an error about invalid arguments, except an error about a missing initialization', () => {
    expect(isLostInAnswer(Buffer.from(rpc('Session expired', -32602)))).toBe(false);
    const early = 'Received request before initialization was complete';
    expect(isLostInAnswer(Buffer.from(rpc(early, -32602)))).toBe(true);
  });
});
