// A JSON document of an identity provider: its keys, or what it says of itself. Asked for over https alone, unless the provider
// is on this machine: whoever could answer in its place would choose who is let in.

import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import { HttpApi } from '../../../libs/rest/http-api.ts';

export interface DocumentBounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Rejects with an error that names the host and what was wrong, and nothing of what it wrote. */
export async function providerDocument(
  url: URL,
  { timeoutMs, maxBytes }: DocumentBounds,
): Promise<Readonly<Record<string, unknown>>> {
  const { protocol, host, hostname, origin, pathname, searchParams } = url;
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname)))
    throw new Error(`${host} must be asked over https`);
  const api = new HttpApi({ baseUrl: origin, timeoutMs, maxAnswerBytes: maxBytes, redirects: 'same-origin' });
  const answer = await api.request({ path: pathname, query: Object.fromEntries(searchParams) });
  const { status, json } = answer;
  if (!answer.isOk) throw new Error(`${host} answered ${status}`);
  if (typeof json !== 'object' || json === null)
    throw new Error(`${host} answered with something that is no JSON object`);
  return json as Readonly<Record<string, unknown>>;
}
