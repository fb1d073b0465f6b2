// Addresses of resources in results: found where the protocol defines them, and nowhere else.

import { expect, test } from 'vitest';
import { addressEdits } from '../../../../../../actors/mcp/clients/routing/result-addresses.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';

const renamed = (result: string) => {
  const answer = readServerMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`));
  const edits = addressEdits(answer, (uri) => uri.replace('a:', 'b:'));
  return toBuffer(applyEdits(answer.bytes, edits))
    .toString()
    .slice('{"jsonrpc":"2.0","id":1,"result":'.length, -1);
};

test.each([
  '{"content":[{"type":"resource_link","uri":"a:1","n":1.0}]}',
  '{"content":[{"type":"resource","resource":{"uri":"a:1","text":"a:1"}}]}',
  '{"contents":[{"uri":"a:1"},{"uri":"a:2"}]}',
  '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:1"}}}]}',
  '{"resources":[{"uri":"a:1"}]}',
  '{"skills":[{"uri":"a:1","frontmatter":{"uri":"x"},"resources":[{"uri":"a:2"}]}]}',
  '{"skill":{"uri":"a:1","resources":"dynamic"}}',
  '{"_meta":{"ui":{"resourceUri":"a:1"}},"content":[]}',
  '{"content":[{"type":"text","text":"","_meta":{"ui/resourceUri":"a:1"}}]}',
  '{"status":"completed","result":{"content":[{"type":"resource_link","uri":"a:1"}]}}',
])('the resource addresses in the result %s are renamed', (result) => {
  expect(renamed(result)).toBe(result.replaceAll(/(ri": ?)"a:/g, '$1"b:'));
});

test.each([
  '{"structuredContent":{"uri":"a:1","content":[{"uri":"a:2"}]}}',
  '{"content":[{"type":"text","text":"{\\"uri\\":\\"a:1\\"}"}]}',
  '{"skill":{"uri":"x","frontmatter":{"uri":"a:1"}}}',
  '{"_meta":{"uri":"a:1","x":{"resourceUri":"a:2"}}}',
  '{"content":[{"uri":7},"uri",null],"uri":{"uri":"a:1"}}',
  'null',
  '[{"uri":7}]',
])('the result %s has no resource address and remains unchanged', (result) => {
  expect(renamed(result)).toBe(result);
});
