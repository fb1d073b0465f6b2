// Converts URL elicitations (requests that the user visits a URL) between the protocol revisions of a legacy
// server (with sessions) and a modern client (stateless), and vice versa. In 2025-11-25 an elicitation has an
// id for its completion notification, and a server may refuse a request with error −32042 until the user has
// visited a URL. Revision 2026-07-28 has neither: the client repeats the request.

import { randomUUID } from 'node:crypto';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Changes, changeMembers, elementsOf, memberOf } from '../../jsonrpc/members.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { rawJson, rawOf, type Span, toBuffer } from '../../jsonrpc/span.ts';

/** Byte of `{`. */
const BRACE = 0x7b;

const elicitation = 'elicitation/create';
const noId: Changes = { elicitationId: undefined };

/** Converts a modern server's input request to raw JSON params for a legacy client, which requires an id. */
export function withElicitationId(method: string, bytes: Buffer, params: Span): string {
  const isUrl = method === elicitation && textAt(bytes, params, 'mode') === '"url"';
  if (!isUrl || memberOf(bytes, params, 'elicitationId') !== undefined) return rawOf(bytes, params);
  return changeParams(bytes, params, { elicitationId: rawJson(randomUUID()) });
}

/** Converts a legacy server's request to raw JSON params for a modern client, which has no ids. */
export function withoutElicitationId(method: string, bytes: Buffer, params: Span): string {
  return method === elicitation ? changeParams(bytes, params, noId) : rawOf(bytes, params);
}

/**
 * Converts a legacy server's error −32042 to a result with input requests, as raw JSON. The client's retry
 * becomes a new call. Returns undefined otherwise, and for clients that do not support URL elicitation.
 */
export function urlsRequired(
  answer: Envelope,
  capabilities: Readonly<Record<string, unknown>>,
): string | undefined {
  const { bytes, error } = answer;
  const declared = capabilities.elicitation as { url?: unknown } | null | undefined;
  if (error === undefined || declared?.url === undefined) return undefined;
  if (Number(textAt(bytes, error, 'code')) !== rpcCodes.urlElicitationRequired) return undefined;
  const elicitations = memberOf(bytes, memberOf(bytes, error, 'data'), 'elicitations');
  const urls = elementsOf(bytes, elicitations).map(({ value }) => value);
  if (urls.length === 0 || urls.some(({ start }) => bytes[start] !== BRACE)) return undefined;
  const requests = urls.map((params, at) => {
    const text = changeParams(bytes, params, noId);
    return `"url-${at + 1}":{"method":"${elicitation}","params":${text}}`;
  });
  return `{"resultType":"input_required","inputRequests":{${requests.join(',')}}}`;
}

function textAt(bytes: Buffer, span: Span, key: string): string | undefined {
  const valueSpan = memberOf(bytes, span, key);
  return valueSpan === undefined ? undefined : rawOf(bytes, valueSpan);
}

function changeParams(bytes: Buffer, span: Span, changes: Changes): string {
  // Raw JSON is a Latin-1 string, one character per byte (span.ts).
  const own = bytes.subarray(span.start, span.end);
  if (own[0] !== BRACE) return own.toString('latin1');
  return toBuffer(applyEdits(own, changeMembers(own, { start: 0, end: own.length }, changes))).toString(
    'latin1',
  );
}
