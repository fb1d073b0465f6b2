import { describe, expect, test } from 'vitest';
import { accessFrom } from '../../../../tool-servers/repository-host/access.ts';

const secure = { allowsHttp: false };
const token = 'tok_0123456789';

function refusal(env: NodeJS.ProcessEnv, options = secure): string {
  try {
    accessFrom(env, options);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('expected a refusal');
}

describe('the token', () => {
  test("comes from this server's environment variable, otherwise from the variable of the public server", () => {
    expect(accessFrom({ REPOHOST_PERSONAL_ACCESS_TOKEN: token }, secure).token).toBe(token);
    expect(accessFrom({ GITHUB_PERSONAL_ACCESS_TOKEN: ` ${token}\n` }, secure).token).toBe(token);
    const both = { REPOHOST_PERSONAL_ACCESS_TOKEN: token, GITHUB_PERSONAL_ACCESS_TOKEN: 'tok_of_another' };
    expect(accessFrom(both, secure).token).toBe(token);
  });

  test('may be missing, and an empty one counts as missing', () => {
    expect(accessFrom({}, secure).token).toBeUndefined();
    expect(accessFrom({ REPOHOST_PERSONAL_ACCESS_TOKEN: ' ' }, secure).token).toBeUndefined();
  });

  test.each(['short', 'with spaces in it', 'tok_\u00e4\u00f6\u00fc_0123456789', 'tok_0123\r\nx-evil: 1'])(
    'is refused without being shown if it is %j',
    (wrong) => {
      const message = refusal({ REPOHOST_PERSONAL_ACCESS_TOKEN: wrong });
      expect(message).toContain('REPOHOST_PERSONAL_ACCESS_TOKEN is not a valid token');
      expect(message).not.toContain(wrong);
    },
  );

  test.each(['$REPO_TOKEN', `$\{REPO_TOKEN}`])('is refused if %s was not filled in', (wrong) => {
    expect(refusal({ REPOHOST_PERSONAL_ACCESS_TOKEN: wrong })).toContain('unexpanded variable');
  });
});

describe('the API URL', () => {
  const urlOf = (text: string, options = secure) => accessFrom({ REPOHOST_API_URL: text }, options).apiUrl;

  test('is the public one by default', () => {
    expect(accessFrom({}, secure).apiUrl).toBe('https://api.github.com');
  });

  test('keeps its path without trailing slashes', () => {
    expect(urlOf('https://host.example/api/v3//')).toBe('https://host.example/api/v3');
    expect(urlOf('https://host.example:8443')).toBe('https://host.example:8443');
  });

  test.each(['http://127.0.0.1:3000', 'http://localhost:3000', 'http://[::1]:3000'])(
    'may be unencrypted on this machine: %s',
    (url) => {
      expect(urlOf(url)).toBe(url);
    },
  );

  test.each(['http://host.example', 'http://127.0.0.1.host.example', 'http://localhost.example'])(
    'may not be unencrypted elsewhere unless allowed: %s',
    (url) => {
      expect(refusal({ REPOHOST_API_URL: url })).toContain('--allow-http');
      expect(urlOf(url, { allowsHttp: true })).toBe(url);
    },
  );

  test.each([
    ['host.example', 'not a valid address'],
    ['file:///etc/passwd', 'not a valid address'],
    ['https://user:hidden@host.example', 'user name or password'],
    ['https://host.example/api?x=1', 'query'],
    ['https://host.example/api#x', 'fragment'],
  ])('is refused if it is %s', (url, why) => {
    const message = refusal({ REPOHOST_API_URL: url });
    expect(message).toContain(why);
    expect(message).not.toContain('hidden');
  });
});
