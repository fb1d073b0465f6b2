// Redacts a server's credentials in its error answers. An error often quotes the failed request, including
// credentials, and enters logs, records and the models' context (A9). A result is data and forwarded as received: a search would slow down every
// call, and a change could break the data.
//
// XE1  every byte except credentials of the server is forwarded as received: numbers, escapes and order included.
// XE2  names of members stay, and so does data that clients act upon by the error's code, such as the addresses of an
//      elicitation.
// XE3  an error larger than `MAX_BYTES` is forwarded as received: a search would delay other clients (A6).
// XE4  only credentials of this server are redacted. A client can send guesses to a tool that echoes them, so redaction confirms a guess.

import { isUtf8 } from 'node:buffer';
import { REDACTION_MARK, type Redactor } from '../../../base/errors/redact.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { membersOf } from '../../jsonrpc/members.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, type Span, whole } from '../../jsonrpc/span.ts';
import { stringValuesIn } from '../../jsonrpc/string-values.ts';

const MAX_BYTES = 64 * 1024;

const actedUpon: ReadonlySet<unknown> = new Set([
  rpcCodes.resourceNotFound,
  rpcCodes.headerMismatch,
  rpcCodes.missingCapability,
  rpcCodes.unsupportedVersion,
  rpcCodes.urlElicitationRequired,
]);

/** Returns the answer with the redacted error, or the same answer if nothing matches. */
export function redactedError(answer: Envelope, redactor: Redactor): Envelope {
  const { error } = answer;
  if (error === undefined || redactor.longest === 0 || error.end - error.start > MAX_BYTES) return answer;
  const { bytes } = answer;
  const edits = searchedParts(answer, error)
    .flatMap((part) => stringValuesIn(bytes, part))
    .flatMap((span) => editsIn(bytes, span, redactor));
  return edits.length === 0 ? answer : readServerMessage(whole(applyEdits(bytes, edits)));
}

/** Returns the members of the error, or the error itself unless it is an object. */
function searchedParts(answer: Envelope, error: Span): readonly Span[] {
  const members = membersOf(answer.bytes, error);
  const code = answer.parse(members.find(({ key }) => key === 'code')?.value);
  if (members.length === 0) return [error];
  return members.filter(({ key }) => key !== 'data' || !actedUpon.has(code)).map(({ value }) => value);
}

function editsIn(bytes: Buffer, { start, end }: Span, redactor: Redactor): Edit[] {
  const inside = start + 1;
  // Invalid UTF-8 is decoded as Latin-1, which preserves byte offsets.
  const encoding = isUtf8(bytes.subarray(inside, end - 1)) ? 'utf8' : 'latin1';
  const raw = bytes.toString(encoding, inside, end - 1);
  const hits = redactor.find(raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw);
  if (hits.length === 0) return [];
  const offsets = unitOffsets(raw, encoding);
  const at = (unit: number) => inside + (offsets[unit] ?? 0);
  return hits.map((hit) => ({ start: at(hit.start), end: at(hit.end), text: REDACTION_MARK }));
}

/** Maps each UTF-16 unit to its byte offset in `raw`, the escaped JSON text; the last entry is the total length. */
function unitOffsets(raw: string, encoding: 'utf8' | 'latin1'): readonly number[] {
  const offsets: number[] = [];
  let offset = 0;
  for (const character of raw.match(/\\u.{4}|\\.|[\s\S]/gu) ?? []) {
    const isPair = character.length === 2 && character[0] !== '\\';
    offsets.push(...(isPair ? [offset, offset] : [offset]));
    offset += Buffer.byteLength(character, encoding);
  }
  return [...offsets, offset];
}
