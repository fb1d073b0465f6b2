// Error answers of servers without the values of secrets.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readServerMessage } from '../../../../../actors/jsonrpc/read-message.ts';
import { Redactor } from '../../../../../actors/redact.ts';
import { redactedError } from '../../../../../actors/server/calls/redacted-error.ts';

const secret = 'pässword"7/x';
const redactor = new Redactor([secret, 'message']);

const answerOf = (error: unknown, spelled = JSON.stringify(error)) =>
  readServerMessage(Buffer.from(`{"error":${spelled},"jsonrpc":"2.0","id":"é"}`));
const told = (error: unknown) => {
  const struck = redactedError(answerOf(error), redactor);
  return JSON.parse(struck.bytes.toString('utf8')) as { id: unknown; error: unknown };
};

describe('an error answer', () => {
  test('loses values of secrets in its message and its data, and nothing else (XE1)', () => {
    const data = { config: [`Bearer ${secret}`, 7, null], message: 'ok' };
    expect(told({ code: -32000, message: `401 with ${secret} ünd`, data })).toEqual({
      jsonrpc: '2.0',
      id: 'é',
      // The name of a member stays although it is a value, too.
      error: {
        code: -32000,
        message: '401 with [redacted] ünd',
        data: { config: ['Bearer [redacted]', 7, null], message: 'ok' },
      },
    });
  });

  test('is the very same where there is none, or where it is too large to look at (XE3)', () => {
    const redacting = new Redactor([secret]);
    const plain = answerOf(undefined, '{ "code":1.0e3, "message":"no\\u0021", "data":12345678901234567890 }');
    expect(redactedError(plain, redacting)).toBe(plain);
    const large = answerOf({ code: 1, message: `${secret}${'x'.repeat(70_000)}` });
    expect(redactedError(large, redacting)).toBe(large);
  });

  test('keeps the data that clients act upon (XE2)', () => {
    const data = { elicitations: [{ url: `https://example.com/${secret}` }] };
    expect(told({ code: -32042, message: secret, data }).error).toEqual({
      code: -32042,
      message: '[redacted]',
      data,
    });
  });

  test('stays an error answer to the same request, whatever it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), fc.integer(), (data, text, code) => {
        const answer = answerOf({ code, message: `${text}${secret}${text}`, data: [data, secret] });
        const struck = redactedError(answer, redactor);
        expect([struck.kind, struck.rawId, struck.error === undefined]).toEqual([
          'answer',
          answer.rawId,
          false,
        ]);
        expect(JSON.stringify(struck.parse(struck.error))).not.toContain(JSON.stringify(secret).slice(1, -1));
      }),
    );
  });
});
