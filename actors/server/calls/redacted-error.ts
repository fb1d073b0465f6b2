// Redacts values of secrets in a server's error answers. An error mostly quotes what has failed, such as a request with
// its credentials, and goes on into logs, records and the models' context (A9). A result is data and forwarded as it
// came: to look through it would cost every call, and to change it could break it.
//
// XE1  the answer is untouched, bytes and all, unless a secret is found in it; then message and data of its error are made anew.
// XE2  names of members stay, and so does data that clients act upon by the error's code, such as the addresses of an
//      elicitation.
// XE3  beyond `MAX_BYTES` an error is not looked at: that would hold up everybody (A6).

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { rawJson, replacing, whole } from '../../jsonrpc/span.ts';
import type { Redactor } from '../../redact.ts';

const MAX_BYTES = 64 * 1024;

const actedUpon: ReadonlySet<unknown> = new Set([
  rpcCodes.resourceNotFound,
  rpcCodes.headerMismatch,
  rpcCodes.missingCapability,
  rpcCodes.unsupportedVersion,
  rpcCodes.urlElicitationRequired,
]);

/** The answer, without values of secrets in its error. */
export function redactedError(answer: Envelope, redactor: Redactor): Envelope {
  const { error } = answer;
  if (error === undefined || error.end - error.start > MAX_BYTES) return answer;
  const text = answer.bytes.toString('utf8', error.start, error.end);
  if (redactor.redact(text) === text) return answer;
  const parsed = answer.parse(error);
  if (typeof parsed !== 'object' || parsed === null) return answer;
  const { code } = parsed as { code?: unknown };
  const redacted = Object.fromEntries(
    Object.entries(parsed).map(([name, value]) => {
      const isKept = name === 'code' || (name === 'data' && actedUpon.has(code));
      return [name, isKept ? value : redactedValue(value, redactor)];
    }),
  );
  return readServerMessage(whole(applyEdits(answer.bytes, [replacing(error, rawJson(redacted))])));
}

function redactedValue(value: unknown, redactor: Redactor): unknown {
  if (typeof value === 'string') return redactor.redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => redactedValue(each, redactor));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, redactedValue(each, redactor)]),
  );
}
