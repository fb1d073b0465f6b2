// A server's credentials are redacted in its error responses.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../../../actors/base/errors/redact.ts';
import type { Envelope } from '../../../../../../actors/mcp/jsonrpc/envelope.ts';
import { readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { redactedError } from '../../../../../../actors/mcp/servers/calls/redacted-error.ts';

const secret = 'pässword"7/x';
const redactor = new Redactor([secret, 'message-key-1']);

const answerOf = (error: unknown, rawError: string | Buffer = JSON.stringify(error)) =>
  readServerMessage(
    Buffer.concat([
      Buffer.from('{"error":'),
      Buffer.from(rawError),
      Buffer.from(',"jsonrpc":"2.0","id":"é"}'),
    ]),
  );
const errorTextOf = ({ bytes }: Envelope) =>
  bytes.toString('utf8').slice('{"error":'.length, -',"jsonrpc":"2.0","id":"é"}'.length);
const redactText = (rawError: string | Buffer) =>
  errorTextOf(redactedError(answerOf(undefined, rawError), redactor));

describe('an error response', () => {
  test('loses only the credentials in its message and data', () => {
    const spell = (shown: string) =>
      `{ "code":-32000.0,\t"message":"401 with ${shown} \\u00fcnd \\/ 🎭","data":{"n":12345678901234567890,"message-key-1":[ "Bearer ${shown}",7e0,null],"n":1} }`;
    expect(redactText(spell('pässword\\"7/x'))).toBe(spell('[redacted]'));
    expect(redactText(spell('p\\u00e4ssword\\u00227\\/x'))).toBe(spell('[redacted]'));
    expect(redactText(spell('\\u0070ässword\\"7\\u002Fx'))).toBe(spell('[redacted]'));
  });

  test('is searched for credentials in nested JSON and in URLs', () => {
    const nested = JSON.stringify(JSON.stringify({ key: secret })).slice(1, -1);
    expect(redactText(`{"code":1,"message":"${nested}"}`)).toBe(
      '{"code":1,"message":"{\\"key\\":\\"[redacted]\\"}"}',
    );
    expect(redactText(`{"code":1,"message":"?k=${encodeURIComponent(secret)}&a"}`)).toBe(
      '{"code":1,"message":"?k=[redacted]&a"}',
    );
  });

  test('is unchanged if it contains no credentials or is too large', () => {
    const plain = answerOf(undefined, '{ "code":1.0e3, "message":"no\\u0021", "data":12345678901234567890 }');
    expect(redactedError(plain, redactor)).toBe(plain);
    const large = answerOf({ code: 1, message: `${secret}${'x'.repeat(70_000)}` });
    expect(redactedError(large, redactor)).toBe(large);
  });

  test('keeps the data of an error whose code makes clients use the data, such as -32042', () => {
    const data = { elicitations: [{ url: `https://example.com/${secret}` }] };
    const answer = answerOf({ code: -32042, message: secret, data });
    expect(JSON.parse(errorTextOf(redactedError(answer, redactor)))).toEqual({
      code: -32042,
      message: '[redacted]',
      data,
    });
  });

  test('that violates the protocol loses its credentials as well', () => {
    expect(redactText(`"no access with message-key-1"`)).toBe('"no access with [redacted]"');
    const invalid = Buffer.from('{"code":1,"message":"\xff\xfe message-key-1 \\u0041\xff"}', 'latin1');
    expect(redactedError(answerOf(undefined, invalid), redactor).bytes.toString('latin1')).toContain(
      '"message":"\xff\xfe [redacted] \\u0041\xff"}',
    );
  });

  test('is forwarded byte for byte except for credentials', () => {
    const piece = fc.constantFrom(
      '\\u00e4',
      'ä',
      '🎭',
      '\\ud83c\\udfad',
      '\\n',
      '\\"',
      ' ',
      'production',
      '[',
      ':',
      '\\\\',
      '1',
    );
    const pieces = fc.array(piece, { maxLength: 6 }).map((all) => all.join(''));
    const encoding = fc.constantFrom(
      'pässword\\"7/x',
      'p\\u00E4ssword\\u00227\\/x',
      'message-key-1',
      'message\\u002dkey-1',
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(pieces, encoding)), pieces, fc.boolean(), (parts, tail, isNested) => {
        const spell = (shown: (encodedSecret: string) => string) => {
          const text = parts.map(([before, encodedSecret]) => before + shown(encodedSecret)).join('') + tail;
          return `{"code":-32000,"message":"${isNested ? 'm' : text}","data":[{"m":"${text}"}, 1.0 ]}`;
        };
        const marked = spell(() => '[redacted]');
        // Adjacent occurrences become one mark.
        const shown = redactText(spell((encodedSecret) => encodedSecret));
        expect(shown).toBe(marked.replace(/(?:\[redacted\])+/g, '[redacted]'));
      }),
      { numRuns: 300 },
    );
  });

  test('remains a valid error response to the same request, for any content', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), fc.integer(), (data, text, code) => {
        const answer = answerOf({ code, message: `${text}${secret}${text}`, data: [data, secret] });
        const redacted = redactedError(answer, redactor);
        expect([redacted.kind, redacted.rawId, redacted.error === undefined]).toEqual([
          'answer',
          answer.rawId,
          false,
        ]);
        const { message } = redacted.parse(redacted.error) as { message: string };
        expect(message).not.toContain(secret);
        expect(message.length).toBeGreaterThan(0);
      }),
    );
  });
});
