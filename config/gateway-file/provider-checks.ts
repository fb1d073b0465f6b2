// Addresses of providers: what a schema cannot say of them, and what would show only at the first question.

import { joinPath } from '../reader/field-path.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';

/** Beginnings of calls, not of an API. */
const callPath = /(?:\/chat\/completions|(?<=\/v\d[a-z]*)\/(?:completions|messages|responses|models))\/?$/;

/** No message repeats the address, since it may hold a key. */
export function checkProviderAddresses(
  reader: SchemaReader,
  providers: Readonly<Record<string, { readonly base_url?: string | undefined } | undefined>> | undefined,
): void {
  for (const [name, provider] of Object.entries(providers ?? {})) {
    const fault = provider?.base_url === undefined ? undefined : faultOf(provider.base_url);
    if (fault !== undefined) reader.report(joinPath(joinPath('providers', name), 'base_url'), fault);
  }
}

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
