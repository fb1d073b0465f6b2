import { describe, expect, test } from 'vitest';
import { type SseCursor, SseParser } from '../../../../../../actors/mcp/links/sse/sse-parser.ts';

function reader(maxDataBytes = 1024, lastEventId = '') {
  const events: unknown[] = [];
  const cursor: SseCursor = { lastEventId, retryMs: undefined };
  const parser = new SseParser(maxDataBytes, cursor, {
    onEvent: (type, data) => events.push({ type, data: data.toString(), at: cursor.lastEventId }),
    onOversizedEvent: (type, { size, id }) => events.push({ type, size, id }),
  });
  return { events, cursor, feed: (text: string) => parser.feed(Buffer.from(text)) };
}

describe('an SSE stream', () => {
  test('stores an event id only once the event is complete', () => {
    const { cursor, feed } = reader();
    feed('id: 7\ndata: x\n');
    expect(cursor.lastEventId).toBe('');
    feed('\n');
    expect(cursor.lastEventId).toBe('7');
  });

  test('stores the id of an event without data, which delivers nothing', () => {
    const { events, cursor, feed } = reader();
    feed('id: prime\nretry: 40\ndata: \n\n');
    expect(events).toEqual([]);
    expect(cursor).toEqual({ lastEventId: 'prime', retryMs: 40 });
  });

  test('keeps the id over events without an id, and clears it on an empty id', () => {
    const { events, feed } = reader(1024, 'before');
    feed('data: a\n\nid: 2\ndata: b\n\ndata: c\n\nid\ndata: d\n\n');
    expect(events).toEqual([
      { type: 'message', data: 'a', at: 'before' },
      { type: 'message', data: 'b', at: '2' },
      { type: 'message', data: 'c', at: '2' },
      { type: 'message', data: 'd', at: '' },
    ]);
  });

  test('clears the resume id after an id that is too long', () => {
    const { cursor, feed } = reader();
    feed(`id: 1\n\nid: ${'x'.repeat(100_000)}\n\n`);
    expect(cursor.lastEventId).toBe('');
  });

  test('clears the resume id after an id that no header can contain', () => {
    const { cursor, feed } = reader();
    feed('id: 1\n\nid: a\x01b\n\n');
    expect(cursor.lastEventId).toBe('');
    feed('id: \xe4 2\n\n');
    expect(cursor.lastEventId).not.toBe('');
  });

  test('skips the byte order mark, also in pieces, and only at the start', () => {
    const parts = [
      Buffer.from([0xef]),
      Buffer.from([0xbb]),
      Buffer.from('\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n', 'latin1'),
    ];
    const events: string[] = [];
    const parser = new SseParser(
      100,
      { lastEventId: '', retryMs: undefined },
      {
        onEvent: (_type, data) => events.push(data.toString()),
        onOversizedEvent: () => expect.unreachable(),
      },
    );
    for (const part of parts) parser.feed(part);
    expect(events).toEqual(['a']);
  });

  test('delivers an event that ends with a lone carriage return immediately', () => {
    const { events, feed } = reader();
    feed('data: a\r\r');
    expect(events).toHaveLength(1);
    feed('\ndata: b\r\n\r\n');
    expect(events).toMatchObject([{ data: 'a' }, { data: 'b' }]);
  });

  test('reports an event above the limit with its size and JSON-RPC id, and continues', () => {
    const { events, feed } = reader(64);
    const giant = `{"jsonrpc":"2.0","result":"${'x'.repeat(100)}","id":41}`;
    for (const char of `data: ${giant}\n\ndata: {"id":42}\n\n`) feed(char);
    expect(events).toEqual([
      { type: 'message', size: giant.length, id: '41' },
      { type: 'message', data: '{"id":42}', at: '' },
    ]);
  });

  test('counts the line feeds that join the lines of one event', () => {
    const { events, feed } = reader(5);
    feed('data: ab\ndata: cd\n\ndata: ab\ndata: cde\n\n');
    expect(events).toEqual([
      { type: 'message', data: 'ab\ncd', at: '' },
      { type: 'message', size: 6, id: undefined },
    ]);
  });

  test('stores nothing of a comment, an unknown field or an oversized event', () => {
    const { events, feed } = reader(1024);
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    const slice = 'x'.repeat(65_536);
    for (const start of [': ', 'unknown: ', 'nocolon', 'event: ', 'data: ']) {
      feed(start);
      for (let round = 0; round < 500; round += 1) feed(slice);
      feed('\n\n');
    }
    feed('data: still here\n\n');
    const after = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
    expect(events.at(-1)).toMatchObject({ type: 'message', data: 'still here' });
    expect(events).toHaveLength(2);
    expect(after - before).toBeLessThan(120 << 20);
  });
});
