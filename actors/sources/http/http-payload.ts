// What a request to a trigger of type HTTP says: JSON as it is parsed, a query as an object of texts, anything else as
// text. The event keeps the bytes, and how to read them.

import type { WebhookRequest } from '../webhook.ts';

export type PayloadKind = 'json' | 'query' | 'text';

/** What a request says: the bytes, how they are to be read, and what they read as. */
export interface Said {
  readonly kind: PayloadKind;
  readonly bytes: Uint8Array;
  readonly payload: unknown;
}

/** Of a request without a body its query. Undefined: its content type says JSON, and it is none. */
export function saidBy({ method, headers, query }: WebhookRequest, body: Buffer): Said | undefined {
  if (body.length === 0)
    return method === 'GET' ? said('query', Buffer.from(query, 'latin1')) : said('text', body);
  const type =
    /^[^;]*/
      .exec(headers['content-type'] ?? '')?.[0]
      .trim()
      .toLowerCase() ?? '';
  const mustBeJson = type === 'application/json' || type.endsWith('+json');
  if (!mustBeJson && type !== '') return said('text', body);
  try {
    return said('json', body);
  } catch {
    return mustBeJson ? undefined : said('text', body);
  }
}

/** Throws for JSON that is none. */
export function said(kind: PayloadKind, bytes: Uint8Array): Said {
  return { kind, bytes, payload: payloadOf(kind, bytes) };
}

function payloadOf(kind: PayloadKind, bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (kind === 'json') return JSON.parse(text);
  if (kind === 'text') return text;
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) query[name] ??= value;
  return query;
}
