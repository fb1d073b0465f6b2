// Ids of the events on a session's streams: composed ids are parsed back, and all other texts are rejected.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventId, parseEventId } from '../../../../../../actors/mcp/clients/sessions/event-id.ts';
import { rawJson } from '../../../../../../actors/mcp/jsonrpc/span.ts';

const requestId = fc.option(fc.oneof(fc.integer(), fc.string({ maxLength: 10, unit: 'grapheme' })), {
  nil: undefined,
});

test('an event id contains its stream, its number and the id of the request', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), requestId, (stream, number, request) => {
      const id = { stream, number, rawRequestId: request === undefined ? undefined : rawJson(request) };
      const text = eventId(id);
      expect(text).toMatch(/^[\w-]{1,120}$/);
      const isShort = (id.rawRequestId ?? '').length <= 64;
      expect(parseEventId(text)).toEqual(isShort ? id : { ...id, rawRequestId: '' });
    }),
  );
});

test('a long request id is omitted from the event id', () => {
  const id = { stream: 1, number: 2, rawRequestId: JSON.stringify('x'.repeat(100)) };
  expect(parseEventId(eventId(id))).toEqual({ stream: 1, number: 2, rawRequestId: '' });
});

const encode = (text: string) => Buffer.from(text).toString('base64url');

test.each([
  '',
  '1',
  '-',
  '1-',
  '-1',
  '1-2-3',
  '1-2-3-4',
  `1-2-${encode('{}')}`,
  `1-2-${encode('1\n\ndata: 2')}`,
  `1-2-${encode('"a\nb"')}`,
  `1-2-${'x'.repeat(100)}`,
  'a-1',
  '1-1\n',
  ' 1-1',
  '1.0-1',
  `${'1'.repeat(16)}-1`,
  '１-1',
])('the parser rejects %j as an event id', (id) => {
  expect(parseEventId(id)).toBeUndefined();
});
