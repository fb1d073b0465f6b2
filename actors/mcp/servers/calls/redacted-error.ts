// Redacts a server's credentials in its error responses. An error often quotes the failed request with
// the credentials, and reaches logs, records and model contexts (A9, ARCHITECTURE.md). Results are forwarded
// unchanged: a search would slow down every call, and a change could break the data. Other bytes, member
// names and data that clients use by error code (such as elicitation URLs) remain unchanged. An error larger
// than `MAX_BYTES` is forwarded unchanged, because a search would delay other clients (A6).
//
// XE4  only credentials of this server are redacted. Redaction confirms a guess, because a tool may echo its
//      input, so a client must not be able to test guesses of other credentials.

import { isUtf8 } from 'node:buffer';
import { REDACTION_MARK, type Redactor } from '../../../base/errors/redact.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { membersOf } from '../../jsonrpc/members.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { type Edit, type Span, toBuffer } from '../../jsonrpc/span.ts';
import { stringValuesIn } from '../../jsonrpc/string-values.ts';

const MAX_BYTES = 64 * 1024;

/** Errors whose `data` clients evaluate; it stays unchanged. */
const codesWithUsedData: ReadonlySet<unknown> = new Set([
  rpcCodes.resourceNotFound,
  rpcCodes.headerMismatch,
  rpcCodes.missingCapability,
  rpcCodes.unsupportedVersion,
  rpcCodes.urlElicitationRequired,
]);

/** Returns the response with the redacted error, or the same response if nothing matches. */
export function redactedError(answer: Envelope, redactor: Redactor): Envelope {
  const { error } = answer;
  // `longest` is 0 if the server has no credentials.
  if (error === undefined || redactor.longest === 0 || error.end - error.start > MAX_BYTES) return answer;
  const { bytes } = answer;
  const edits = searchedParts(answer, error)
    .flatMap((part) => stringValuesIn(bytes, part))
    .flatMap((span) => editsIn(bytes, span, redactor));
  return edits.length === 0 ? answer : readServerMessage(toBuffer(applyEdits(bytes, edits)));
}

/** Returns the members of the error, or the error itself if it is not an object. */
function searchedParts(answer: Envelope, error: Span): readonly Span[] {
  const members = membersOf(answer.bytes, error);
  const code = answer.parse(members.find(({ key }) => key === 'code')?.value);
  if (members.length === 0) return [error];
  return members
    .filter(({ key }) => key !== 'data' || !codesWithUsedData.has(code))
    .map(({ value }) => value);
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

/**
 * Maps each UTF-16 unit to the byte offset in `raw`, the escaped JSON text; the last entry is the total
 * length.
 */
function unitOffsets(raw: string, encoding: 'utf8' | 'latin1'): readonly number[] {
  const offsets: number[] = [];
  let offset = 0;
  for (const character of raw.match(/\\u.{4}|\\.|[\s\S]/gu) ?? []) {
    // A character outside the basic plane has two units.
    const isPair = character.length === 2 && character[0] !== '\\';
    offsets.push(...(isPair ? [offset, offset] : [offset]));
    offset += Buffer.byteLength(character, encoding);
  }
  return [...offsets, offset];
}
