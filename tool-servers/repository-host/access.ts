// API address and token of the repository host, read from the environment and validated before the start.
//
// 1. The token is sent to this address only.
// 2. It is sent over TLS or loopback, unless the operator permits plain http. Messages never contain it.

import { isLoopback } from '../../libs/rest/host.ts';
import { StartupError } from '../tool-error.ts';

const PUBLIC_API = 'https://api.github.com';
/** Similar public servers use the second name. */
const TOKEN_VARIABLES = ['REPOHOST_PERSONAL_ACCESS_TOKEN', 'GITHUB_PERSONAL_ACCESS_TOKEN'] as const;
/** Minimum length: redaction would remove a shorter token from unrelated texts. */
const MIN_TOKEN_CHARS = 8;

export interface Access {
  /** No trailing slash. */
  readonly apiUrl: string;
  readonly token: string | undefined;
}

/**
 * Reads address and token from `env`.
 * @throws StartupError for an invalid value
 */
export function accessFrom(env: NodeJS.ProcessEnv, { allowsHttp }: { readonly allowsHttp: boolean }): Access {
  const apiUrl = apiUrlOf(env.REPOHOST_API_URL?.trim() || PUBLIC_API, allowsHttp);
  const variable = TOKEN_VARIABLES.find((name) => env[name]?.trim());
  if (variable === undefined) return { apiUrl, token: undefined };
  const token = env[variable]?.trim() ?? '';
  if (/^\$\{?\w+\}?$/.test(token))
    throw new StartupError(`${variable} contains an unexpanded variable name; set it to the token itself.`);
  if (!/^[\x21-\x7e]+$/.test(token) || token.length < MIN_TOKEN_CHARS)
    throw new StartupError(
      `${variable} is not a valid token: it needs at least ${MIN_TOKEN_CHARS} printable characters without spaces.`,
    );
  return { apiUrl, token };
}

function apiUrlOf(text: string, allowsHttp: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new StartupError(
      'REPOHOST_API_URL is not a valid address: use the form https://host.example/api/v3.',
    );
  if (url.username !== '' || url.password !== '')
    throw new StartupError(
      'REPOHOST_API_URL contains a user name or password: remove it, and set the token in REPOHOST_PERSONAL_ACCESS_TOKEN.',
    );
  if (url.search !== '' || url.hash !== '')
    throw new StartupError('REPOHOST_API_URL has a query or a fragment: remove it.');
  if (url.protocol === 'http:' && !allowsHttp && !isLoopback(url.hostname))
    throw new StartupError(
      'REPOHOST_API_URL is plain http, so the token could be intercepted: use https, or --allow-http in a trusted network.',
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
