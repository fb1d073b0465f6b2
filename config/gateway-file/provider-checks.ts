// Addresses of providers: what a schema cannot say of them, and what would show only at the first question.

import { joinPath } from '../reader/field-path.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';

/** Beginnings of calls, not of an API. */
const callPath = /(?:\/chat\/completions|(?<=\/v\d[a-z]*)\/(?:completions|messages|responses|models))\/?$/;

interface WrittenAddress {
  readonly base_url?: string | undefined;
  readonly api_key?: string | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** No message repeats the address, since it may hold a key. */
export function checkProviderAddresses(
  reader: SchemaReader,
  providers: Readonly<Record<string, WrittenAddress | undefined>> | undefined,
): void {
  for (const [name, provider] of Object.entries(providers ?? {})) {
    if (provider?.base_url === undefined) continue;
    const path = joinPath(joinPath('providers', name), 'base_url');
    const fault = faultOf(provider.base_url);
    if (fault !== undefined) reader.report(path, fault);
    else if (isInTheClear(provider))
      reader.report(
        path,
        'the key goes there as it is, for everybody on the way to read; write https://',
        'warning',
      );
  }
}

/** Not within one machine, a network of containers, or a private network. */
function isInTheClear({ base_url = '', api_key, headers = {} }: WrittenAddress): boolean {
  const { protocol, hostname } = new URL(base_url);
  const hasKey = (api_key !== undefined && api_key !== '') || Object.keys(headers).length > 0;
  const isHere = !hostname.includes('.') || /\.(?:local|localhost|internal|lan|home|test)$/.test(hostname);
  return hasKey && protocol === 'http:' && !isHere && !privateAddress.test(hostname);
}

const privateAddress =
  /^(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$/;

function faultOf(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is no address that can be used';
  const { username, password, search, hash, pathname } = new URL(text);
  if (username !== '' || password !== '')
    return 'holds a user name or password; write api_key, or headers with an Authorization';
  if (search !== '' || hash !== '' || /[?#]$/.test(text))
    return 'has a query or a fragment, and the path of each call would stand behind it; write what it says as api_key or headers';
  const call = callPath.exec(pathname)?.[0];
  return call === undefined
    ? undefined
    : `ends with the path of one call; write only what stands before ${call.replace(/\/$/, '')}`;
}
