// Parses the request payload for HTTP triggers: JSON, a query as an object of strings, or text. The event
// stores the bytes and the kind.

import { parseJson } from '../../../config/reader/json-text.ts';
import { isLargeJson, membersAt, type Spans, spansOf } from '../payloads/large-json.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';

export type PayloadKind = 'json' | 'query' | 'text';

/** A parsed request: bytes, kind and payload. */
export class ParsedBody {
  readonly kind: PayloadKind;
  readonly bytes: Uint8Array;
  /** Member positions of large JSON; `payload` then contains only these members. */
  readonly spans: Spans | undefined;
  readonly payload: unknown;

  /** Throws on malformed JSON. */
  constructor(kind: PayloadKind, bytes: Uint8Array, spans?: Spans) {
    this.kind = kind;
    this.bytes = bytes;
    this.spans = spans;
    this.payload = spans === undefined ? payloadOf(kind, bytes) : membersAt(bytes, spans);
  }
}

/**
 * Parses the body; for a GET without a body, the query. Returns undefined if the content type is JSON and the
 * body is not. In large JSON only the values at `paths` are read. Rejects with an OverloadedError if too many
 * bytes are being scanned.
 */
export async function parseBody(
  { method, headers, query }: WebhookRequest,
  body: Buffer,
  paths: readonly string[],
): Promise<ParsedBody | undefined> {
  if (body.length === 0)
    return method === 'GET'
      ? new ParsedBody('query', Buffer.from(query, 'latin1'))
      : new ParsedBody('text', body);
  const type =
    /^[^;]*/
      .exec(headers['content-type'] ?? '')?.[0]
      .trim()
      .toLowerCase() ?? '';
  const mustBeJson = type === 'application/json' || type.endsWith('+json');
  if (!mustBeJson && type !== '') return new ParsedBody('text', body);
  if (isLargeJson(body)) {
    const spans = await spansOf(body, paths);
    if (spans !== undefined) return new ParsedBody('json', body, spans);
    return mustBeJson ? undefined : new ParsedBody('text', body);
  }
  try {
    return new ParsedBody('json', body);
  } catch {
    return mustBeJson ? undefined : new ParsedBody('text', body);
  }
}

function payloadOf(kind: PayloadKind, bytes: Uint8Array): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  if (kind === 'json') return parseJson(text);
  if (kind === 'text') return text;
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) query[name] ??= value;
  return query;
}
