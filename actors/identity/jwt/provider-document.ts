// Fetches a JSON document of an identity provider: its keys or metadata. Requires https, except on a loopback
// address: an attacker who can replace the response controls all access.

import { isLoopback } from '../../../config/gateway-file/listen-addr.ts';
import { HttpApi } from '../../../libs/rest/http-api.ts';

export interface DocumentBounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Rejects with an error that contains the host and the failure, but no content of the response. */
export async function providerDocument(
  url: URL,
  { timeoutMs, maxBytes }: DocumentBounds,
): Promise<Readonly<Record<string, unknown>>> {
  const { protocol, host, hostname, origin, pathname, searchParams } = url;
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname)))
    throw new Error(`${host} requires https`);
  const api = new HttpApi({ baseUrl: origin, timeoutMs, maxAnswerBytes: maxBytes, redirects: 'same-origin' });
  const answer = await api.request({ path: pathname, query: Object.fromEntries(searchParams) });
  const { status, json } = answer;
  if (!answer.isOk) throw new Error(`${host} responded with ${status}`);
  if (typeof json !== 'object' || json === null) throw new Error(`${host} did not return a JSON object`);
  return json as Readonly<Record<string, unknown>>;
}
