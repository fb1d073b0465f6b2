// What a request to a trigger of type HTTP says: JSON as it is parsed, a query as an object of texts, anything else as
// text. The event keeps the bytes, and how to read them.

import { isLargeJson, membersAt, type Spans, spansOf } from '../payloads/large-json.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

export type PayloadKind = 'json' | 'query' | 'text';

/** What a request says: the bytes, how they are to be read, and what they read as. */
export class Said {
  readonly kind: PayloadKind;
  readonly bytes: Uint8Array;
  /** Of large JSON: where the members stand that are asked for. Nothing else of it is in `payload`. */
  readonly spans: Spans | undefined;
  readonly payload: unknown;

  /** Throws for JSON that is none. */
  constructor(kind: PayloadKind, bytes: Uint8Array, spans?: Spans) {
    this.kind = kind;
    this.bytes = bytes;
    this.spans = spans;
    this.payload = spans === undefined ? payloadOf(kind, bytes) : membersAt(bytes, spans);
  }
}

/**
 * Of a request without a body its query. Undefined: its content type says JSON, and it is none. Of large JSON what stands at
 * the `paths` is read. Rejects with OverloadedError when too much is being read.
 */
export async function saidBy(
  { method, headers, query }: WebhookRequest,
  body: Buffer,
  paths: readonly string[],
): Promise<Said | undefined> {
  if (body.length === 0)
    return method === 'GET' ? new Said('query', Buffer.from(query, 'latin1')) : new Said('text', body);
  const type =
    /^[^;]*/
      .exec(headers['content-type'] ?? '')?.[0]
      .trim()
      .toLowerCase() ?? '';
  const mustBeJson = type === 'application/json' || type.endsWith('+json');
  if (!mustBeJson && type !== '') return new Said('text', body);
  if (isLargeJson(body)) {
    const spans = await spansOf(body, paths);
    if (spans !== undefined) return new Said('json', body, spans);
    return mustBeJson ? undefined : new Said('text', body);
  }
  try {
    return new Said('json', body);
  } catch {
    return mustBeJson ? undefined : new Said('text', body);
  }
}

function payloadOf(kind: PayloadKind, bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (kind === 'json') return JSON.parse(text);
  if (kind === 'text') return text;
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) query[name] ??= value;
  return query;
}
