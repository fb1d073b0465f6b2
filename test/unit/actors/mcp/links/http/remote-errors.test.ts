import { describe, expect, test } from 'vitest';
import {
  mayBeCarriedOut,
  networkError,
  plainUrl,
  type Refusal,
  refusalError,
} from '../../../../../../actors/mcp/links/http/remote-errors.ts';
import { isSessionGone } from '../../../../../../actors/mcp/links/streamable-http/session-gone.ts';

const redactor = { redact: (text: string) => text.replaceAll('s3cret-value', '[redacted]') };

function refusal(status: number, body = '', headers: Refusal['headers'] = {}): Refusal {
  const url = new URL('https://user:pw@mcp.example.com/mcp?token=abcdef#x');
  return { method: 'POST', url, status, reason: 'Reason', headers, body: Buffer.from(body), isWhole: true };
}

describe('the error for a refusal', () => {
  test('shows the address without user name, query and fragment', () => {
    expect(plainUrl(refusal(500).url)).toBe('https://mcp.example.com/mcp');
    expect(refusalError(refusal(500), redactor).message).toBe(
      'the server answered 500 Reason to POST https://mcp.example.com/mcp',
    );
  });

  test('tells on 401 where the header is set, and how OAuth is done', () => {
    const { message } = refusalError(refusal(401, '{"error":"no token"}'), redactor);
    expect(message).toContain('401');
    expect(message).toContain('{"error":"no token"}');
    expect(message).toContain('`headers:`');
    expect(message).toContain('mcp-remote');
  });

  test('names the target of a redirect without its query', () => {
    const { message } = refusalError(refusal(302, '', { location: '/other?code=123456' }), redactor);
    expect(message).toContain('https://mcp.example.com/other is right');
    expect(message).not.toContain('123456');
  });

  test('survives a redirect without a usable target', () => {
    for (const location of [undefined, 'http://', 'https://[::'])
      expect(
        refusalError(refusal(301, '', location === undefined ? {} : { location }), redactor).message,
      ).toContain('its target');
  });

  test('cuts the body to 300 characters after the secrets are gone, so that no half of one is left', () => {
    const body = `${'x'.repeat(295)}s3cret-value and more${'y'.repeat(1000)}`;
    const { message } = refusalError(refusal(400, body), redactor);
    expect(message).toContain(`(${'x'.repeat(295)}[reda…)`);
    expect(message).not.toContain('s3c');
  });

  test('turns control characters of the body into spaces', () => {
    expect(refusalError(refusal(400, 'a\u001b[31mb\r\n\tc'), redactor).message).toContain('(a [31mb c)');
  });

  test('says how long a server asks to wait', () => {
    expect(refusalError(refusal(429, '', { 'retry-after': '17' }), redactor).message).toContain('17 s');
  });
});

test('only a 303 and a 5xx other than 503 leave open whether the request was carried out', () => {
  const all = [301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 408, 409, 413, 429, 500, 501, 502, 503, 504];
  expect(all.filter(mayBeCarriedOut)).toEqual([303, 500, 501, 502, 504]);
});

describe('the error for a network failure', () => {
  test('names the address and the reason of each address that was tried', () => {
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

  test('is a protocol error when the server does not speak HTTP', () => {
    const error = Object.assign(new Error('Parse Error: Expected HTTP/'), { code: 'HPE_INVALID_CONSTANT' });
    expect(networkError(new URL('http://h/'), error, true, redactor).code).toBe('ERR_UPSTREAM_PROTOCOL');
  });
});

describe('a session counts as lost', () => {
  const rpc = (message: string, code: number) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code, message } });

  test('on 404, whatever its body', () => {
    for (const body of ['', 'Not found', '<html>', 'null', '[]'])
      expect(isSessionGone(refusal(404, body), false)).toBe(true);
  });

  test('on 404 with an answer to our request only if it speaks of the session', () => {
    expect(isSessionGone(refusal(404, rpc('Method not found', -32601)), true)).toBe(false);
    expect(isSessionGone(refusal(404, rpc('Session not found', -32000)), true)).toBe(true);
    expect(isSessionGone(refusal(404, rpc('Not found', -32001)), true)).toBe(true);
  });

  test('on the 400 that servers built on the examples of the SDK send', () => {
    const body = rpc('Bad Request: No valid session ID provided', -32000);
    expect(isSessionGone(refusal(400, body), false)).toBe(true);
    expect(isSessionGone(refusal(400, rpc('Parse error', -32700)), false)).toBe(false);
    expect(isSessionGone(refusal(400, 'no session'), false)).toBe(false);
  });

  test('on no other status', () => {
    for (const status of [401, 403, 500, 503])
      expect(isSessionGone(refusal(status, rpc('session', -32001)), false)).toBe(false);
  });
});
