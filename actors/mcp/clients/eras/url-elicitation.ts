// Carries URL elicitations between the eras. In revision 2025-11-25 an elicitation has an id, by which its end is announced, and
// a server may refuse a request with error −32042 until the user has visited the URL. Since 2026-07-28 there is neither: the
// client asks again to learn whether the user has visited it.

import { randomUUID } from 'node:crypto';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Changes, changeMembers, elementsOf, memberOf } from '../../jsonrpc/members.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { rawJson, rawOf, type Span, whole } from '../../jsonrpc/span.ts';

const BRACE = 0x7b;

const elicitation = 'elicitation/create';
const noId: Changes = { elicitationId: undefined };

/** The params of a question of a modern server as raw JSON for a legacy client, which needs an id. */
export function withElicitationId(method: string, bytes: Buffer, params: Span): string {
  const isUrl = method === elicitation && textAt(bytes, params, 'mode') === '"url"';
  if (!isUrl || memberOf(bytes, params, 'elicitationId') !== undefined) return rawOf(bytes, params);
  return changed(bytes, params, { elicitationId: rawJson(randomUUID()) });
}

/** The params of a question of a legacy server as raw JSON for a modern client, which knows no ids. */
export function withoutElicitationId(method: string, bytes: Buffer, params: Span): string {
  return method === elicitation ? changed(bytes, params, noId) : rawOf(bytes, params);
}

/**
 * The result, as raw JSON, that sends a modern client where error −32042 of a legacy server says; its retry is a new
 * call. Undefined for any other answer, and for clients that cannot be sent anywhere.
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
    const text = changed(bytes, params, noId);
    return `"url-${at + 1}":{"method":"${elicitation}","params":${text}}`;
  });
  return `{"resultType":"input_required","inputRequests":{${requests.join(',')}}}`;
}

function textAt(bytes: Buffer, span: Span, key: string): string | undefined {
  const found = memberOf(bytes, span, key);
  return found === undefined ? undefined : rawOf(bytes, found);
}

function changed(bytes: Buffer, span: Span, changes: Changes): string {
  const own = bytes.subarray(span.start, span.end);
  if (own[0] !== BRACE) return own.toString('latin1');
  return whole(applyEdits(own, changeMembers(own, { start: 0, end: own.length }, changes))).toString(
    'latin1',
  );
}
