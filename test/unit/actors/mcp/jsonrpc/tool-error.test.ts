// Detection of `isError` in results of tools, compared with a parser.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Envelope } from '../../../../../actors/mcp/jsonrpc/envelope.ts';
import { LargeMessage } from '../../../../../actors/mcp/jsonrpc/large-message.ts';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';

const answer = (rawResult: string): Envelope =>
  readServerMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${rawResult}}`));

test.each([
  ['{"content":[],"isError":true}', true],
  ['{"isError" :\ttrue,"content":[]}', true],
  ['{"content":[],"isError":false}', false],
  ['{"content":[]}', false],
  ['{"content":[],"structuredContent":{"isError":true}}', false],
  ['{"structuredContent":{"isError":false},"isError":true}', true],
  ['{"content":[{"type":"text","text":"\\"isError\\":true"}]}', false],
  ['{"content":["isError",true]}', false],
  ['{"isError":"true"}', false],
  ['null', false],
])('the result %s is an error of the tool: %s', (rawResult, expected) => {
  expect(answer(rawResult).isToolError).toBe(expected);
});

test('an error response is not an error of the tool', () => {
  const bytes = Buffer.from('{"id":1,"error":{"code":1,"message":"x","data":{"isError":true}}}');
  expect(readServerMessage(bytes).isToolError).toBe(false);
});

test('any result is an error of the tool if and only if its member isError is true', () => {
  const key = fc.constantFrom('isError', 'content', 'a');
  const value = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(true, false, null, 'isError', '"isError":true'),
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(key, tie('json'), { maxKeys: 3 }),
    ),
  })).json;
  fc.assert(
    fc.property(fc.dictionary(key, value, { maxKeys: 3 }), (result) => {
      expect(answer(JSON.stringify(result)).isToolError).toBe(result.isError === true);
    }),
  );
});

test('a large result in pieces is recognised as an error of the tool', () => {
  for (const isError of [true, false]) {
    const bytes = Buffer.from(
      JSON.stringify({ id: 1, result: { content: [{ text: 'x'.repeat(100_000) }], isError } }),
    );
    const large = new LargeMessage();
    const pieces = [bytes.subarray(0, 50_000), bytes.subarray(50_000)];
    for (const piece of pieces) large.feed(piece);
    large.pieces = pieces;
    expect(large.answer()?.isToolError).toBe(isError);
  }
});
