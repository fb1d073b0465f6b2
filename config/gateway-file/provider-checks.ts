// Checks the addresses of model providers (services with language models) at startup, before the first
// request.

import { joinPath } from '../reader/field-path.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';

/** Paths of calls, which do not belong in a base URL. */
const callPath = /(?:\/chat\/completions|(?<=\/v\d[a-z]*)\/(?:completions|messages|responses|models))\/?$/;

interface WrittenAddress {
  readonly base_url?: string | undefined;
  readonly api_key?: string | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Reports unusable addresses. Messages do not contain the address, because it may contain a key. */
export function checkProviderAddresses(
  reader: SchemaReader,
  providers: Readonly<Record<string, WrittenAddress | undefined>> | undefined,
): void {
  for (const [name, provider] of Object.entries(providers ?? {})) {
    if (provider?.base_url === undefined) continue;
    const path = joinPath(joinPath('providers', name), 'base_url');
    const fault = faultOf(provider.base_url);
    if (fault !== undefined) reader.report(path, fault);
    else if (isKeyUnencrypted(provider))
      reader.report(path, 'the key would be sent unencrypted; use https://', 'warning');
  }
}

/**
 * Returns true if a key is sent by http to a host outside the local machine, containers and private networks.
 */
function isKeyUnencrypted({ base_url = '', api_key, headers = {} }: WrittenAddress): boolean {
  const { protocol, hostname } = new URL(base_url);
  const hasKey = (api_key !== undefined && api_key !== '') || Object.keys(headers).length > 0;
  const isLocalName =
    !hostname.includes('.') || /\.(?:local|localhost|internal|lan|home|test)$/.test(hostname);
  return hasKey && protocol === 'http:' && !isLocalName && !privateAddress.test(hostname);
}

const privateAddress =
  /^(?:127|10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.[\d.]+$/;

function faultOf(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a valid address';
  const { username, password, search, hash, pathname } = new URL(text);
  if (username !== '' || password !== '')
    return 'contains a user name or password; use api_key, or headers with an Authorization';
  if (search !== '' || hash !== '' || /[?#]$/.test(text))
    return 'has a query or a fragment, but call paths are appended to it; use api_key or headers instead';
  const call = callPath.exec(pathname)?.[0];
  return call === undefined
    ? undefined
    : `ends with the path of a call; write only the part before ${call.replace(/\/$/, '')}`;
}
