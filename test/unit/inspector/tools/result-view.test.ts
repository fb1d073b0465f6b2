// Tool results for the page, for any result.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import type { ToolResult } from '../../../../actors/mcp/clients/tool-request.ts';
import { createResultView } from '../../../../src/inspector/tools/result-view.ts';

const SECRET = 'a-secret-word';
const redactor = new Redactor([SECRET]);
const resultShown = (result: unknown) => createResultView(result as ToolResult, redactor);
const image = (mimeType: unknown, data: unknown) => ({ type: 'image', mimeType, data });

test('the inspector shows text, images, audio, links, resources and structured content of a result each as its kind', () => {
  const { parts, structured, is_error } = resultShown({
    content: [
      { type: 'text', text: 'hello' },
      image('image/PNG', 'aGk='),
      { type: 'audio', mimeType: 'audio/wav', data: 'aGk=' },
      { type: 'resource_link', name: 'note', uri: 'file:///n', mimeType: 'text/plain' },
      { type: 'resource', resource: { uri: 'file:///n', text: 'words', mimeType: 'text/plain' } },
      { type: 'resource', resource: { uri: 'file:///p', blob: 'aGk=', mimeType: 'image/gif' } },
      { type: 'resource', resource: { uri: 'file:///z', blob: 'aGk=', mimeType: 'application/zip' } },
    ],
    structuredContent: { n: 1 },
  });
  expect(parts).toEqual([
    { kind: 'text', text: 'hello' },
    { kind: 'image', type: 'image/png', data: 'aGk=' },
    { kind: 'audio', type: 'audio/wav', data: 'aGk=' },
    { kind: 'link', name: 'note', uri: 'file:///n', type: 'text/plain', description: '' },
    { kind: 'resource', uri: 'file:///n', type: 'text/plain', text: 'words' },
    { kind: 'image', type: 'image/gif', data: 'aGk=' },
    { kind: 'note', text: 'resource file:///z of type application/zip, 2 bytes' },
  ]);
  expect([JSON.parse(structured ?? ''), is_error]).toEqual([{ n: 1 }, false]);
});

test.each([
  [image('image/svg+xml', 'aGk=')],
  [image('text/html', 'aGk=')],
  [image('image/png" onerror="x', 'aGk=')],
  [image('image/png', 'a"b')],
  [image('image/png', 'a=b=')],
  [image('image/png', 'ab===')],
  [image('image/png', '==')],
  [image('image/png', '')],
  [image('image/png', undefined)],
  [image(5, 'aGk=')],
])('an image of an unsupported type is described, not shown: %j', (part) => {
  expect(resultShown({ content: [part] }).parts).toEqual([{ kind: 'note', text: expect.any(String) }]);
});

test('an image is shown with any base64 padding, up to the size limit', () => {
  const largestText = 'A'.repeat(8_000_000);
  for (const data of ['YQ==', 'YWI=', 'YWJj', largestText])
    expect(resultShown({ content: [image('image/png', data)] }).parts).toEqual([
      { kind: 'image', type: 'image/png', data },
    ]);
  const [part] = resultShown({ content: [image('image/png', `${largestText.slice(1)}"`)] }).parts;
  expect(part?.kind).toBe('note');
});

test('a tool result with many parts, long texts or large images is truncated with a notice', () => {
  const many = resultShown({ content: Array.from({ length: 150 }, () => ({ type: 'text', text: 'a' })) });
  expect(many.parts.length).toBe(101);
  expect(many.parts.at(-1)).toEqual({ kind: 'note', text: '50 more parts omitted' });
  const text = { type: 'text', text: 'x'.repeat(150_000) };
  const long = resultShown({ content: [text, text, text, text, text, text] });
  expect(JSON.stringify(long).length).toBeLessThan(410_000);
  expect(JSON.stringify(long.parts[0])).toContain('50000 more characters');
  const large = image('image/png', 'A'.repeat(5_000_000));
  expect(resultShown({ content: [large, large] }).parts.map(({ kind }) => kind)).toEqual(['image', 'note']);
});

test('the inspector redacts secrets in any tool result', () => {
  const part = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        type: fc.constantFrom('text', 'image', 'audio', 'resource', 'resource_link', 'other'),
        text: fc.constantFrom('', `before ${SECRET} after`),
        uri: fc.constantFrom(`javascript:${SECRET}`, 5),
        name: fc.constantFrom(SECRET, null),
        mimeType: fc.constantFrom(SECRET, 'image/png', {}),
        data: fc.constantFrom('aGk=', SECRET, 7),
        resource: fc.oneof(
          fc.jsonValue(),
          fc.record({ uri: fc.constant(SECRET), text: fc.constant(SECRET) }),
        ),
      },
      { requiredKeys: ['type'] },
    ),
  );
  const result = fc.record(
    {
      content: fc.oneof(fc.array(part), fc.jsonValue()),
      structuredContent: fc.oneof(fc.jsonValue(), fc.constant({ [SECRET]: [SECRET] })),
      isError: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(result, (toolResult) => {
      expect(JSON.stringify(resultShown(toolResult))).not.toContain(SECRET);
    }),
  );
});
