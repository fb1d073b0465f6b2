// Where the host is and who asks: the API's address and the token, both from the environment, checked before anything starts.
//
// 1. The token is sent to the address given here and to no other.
// 2. It travels encrypted, or stays on this machine, unless the operator says otherwise. 3. No message tells it.

import { UsageError } from '../tool-error.ts';

const PUBLIC_API = 'https://api.github.com';
/** The second name is the one that public servers of this kind read. */
const TOKEN_VARIABLES = ['REPOHOST_PERSONAL_ACCESS_TOKEN', 'GITHUB_PERSONAL_ACCESS_TOKEN'] as const;
/** Shorter ones would be cut out of every text in which they happen to occur. */
const MIN_TOKEN_CHARS = 8;

export interface Access {
  /** Without a slash at its end. */
  readonly apiUrl: string;
  readonly token: string | undefined;
}

/**
 * Reads the address and the token from `env`.
 * @throws UsageError when one of them cannot be used
 */
export function accessFrom(env: NodeJS.ProcessEnv, { allowsHttp }: { readonly allowsHttp: boolean }): Access {
  const apiUrl = apiUrlOf(env.REPOHOST_API_URL?.trim() || PUBLIC_API, allowsHttp);
  const variable = TOKEN_VARIABLES.find((name) => env[name]?.trim());
  if (variable === undefined) return { apiUrl, token: undefined };
  const token = env[variable]?.trim() ?? '';
  if (/^\$\{?\w+\}?$/.test(token))
    throw new UsageError(
      `${variable} is the name of a variable that nobody filled in; give the token itself.`,
    );
  if (!/^[\x21-\x7e]+$/.test(token) || token.length < MIN_TOKEN_CHARS)
    throw new UsageError(
      `${variable} is no token: it takes at least ${MIN_TOKEN_CHARS} printable characters without spaces.`,
    );
  return { apiUrl, token };
}

function apiUrlOf(text: string, allowsHttp: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new UsageError('REPOHOST_API_URL is no address: write it like https://host.example/api/v3.');
  if (url.username !== '' || url.password !== '')
    throw new UsageError(
      'REPOHOST_API_URL holds a user name or password: take it out, a token goes into REPOHOST_PERSONAL_ACCESS_TOKEN.',
    );
  if (url.search !== '' || url.hash !== '')
    throw new UsageError('REPOHOST_API_URL has a query or a fragment: give the address of the API alone.');
  if (url.protocol === 'http:' && !allowsHttp && !isLoopback(url.hostname))
    throw new UsageError(
      'REPOHOST_API_URL is plain http, so the token could be read on its way: use https, or --allow-http where the network is trusted.',
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
  );
}
