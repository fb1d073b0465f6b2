// What a request to a trigger of type HTTP says: JSON as it is parsed, a query as an object of texts, anything else as
// text. The event keeps the bytes, and how to read them; the value is made anew whenever it is needed.

import type { WebhookRequest } from '../webhook.ts';

export type PayloadKind = 'json' | 'query' | 'text';

/** How the bytes of this request are to be read; undefined: its content type says JSON, and it is none. */
export function payloadKind({ method, headers }: WebhookRequest, body: Buffer): PayloadKind | undefined {
  if (body.length === 0) return method === 'GET' ? 'query' : 'text';
  const type =
    /^[^;]*/
      .exec(headers['content-type'] ?? '')?.[0]
      .trim()
      .toLowerCase() ?? '';
  if (type === 'application/json' || type.endsWith('+json')) return isJson(body) ? 'json' : undefined;
  return type === '' && isJson(body) ? 'json' : 'text';
}

/** The value behind the bytes. Throws for JSON that is none. */
export function payloadOf(kind: PayloadKind, bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (kind === 'json') return JSON.parse(text);
  if (kind === 'text') return text;
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) query[name] ??= value;
  return query;
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}
