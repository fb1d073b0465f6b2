import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LargeMessage } from '../../../../../actors/mcp/jsonrpc/large-message.ts';
import { MessageBuffer } from '../../../../../actors/mcp/links/message-buffer.ts';

test('a message in one piece is returned without a copy', () => {
  const piece = Buffer.from('{"id":1}');
  const buffer = new MessageBuffer(100);
  buffer.append(piece);
  const message = buffer.take();
  expect(Buffer.isBuffer(message) && message.buffer === piece.buffer).toBe(true);
  expect(buffer.length).toBe(0);
});

test('the message buffer joins any pieces up to the limit, and returns only size and id above the limit', () => {
  const pieces = fc.array(
    fc.string({ minLength: 1, maxLength: 40 }).map((text) => Buffer.from(text)),
    {
      minLength: 1,
    },
  );
  const buffer = new MessageBuffer(200);
  fc.assert(
    fc.property(pieces, (parts) => {
      const copies = parts.map((part) => Buffer.from(part));
      for (const part of parts) buffer.append(part);
      const whole = Buffer.concat(copies);
      const message = buffer.take();
      if (whole.length <= 200) expect(message).toEqual(whole);
      else expect(message).toMatchObject({ size: whole.length });
      expect(parts).toEqual(copies);
    }),
  );
});

test('the message buffer finds the id of an oversized message before and after the limit', () => {
  for (const text of [`{"id":7,"result":"${'x'.repeat(500)}"}`, `{"result":"${'x'.repeat(500)}","id":7}`]) {
    const buffer = new MessageBuffer(100);
    for (let at = 0; at < text.length; at += 7) buffer.append(Buffer.from(text.slice(at, at + 7)));
    const message = buffer.take();
    expect(message).toBeInstanceOf(LargeMessage);
    expect(message).toMatchObject({ size: text.length, id: '7' });
  }
});

test('a message of one megabyte received byte by byte uses only a few megabytes of memory', () => {
  const buffer = new MessageBuffer(1 << 20);
  const before = process.memoryUsage();
  const byte = Buffer.from('x');
  for (let count = 0; count < 1 << 20; count += 1) buffer.append(byte);
  const after = process.memoryUsage();
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(8 << 20);
  expect(buffer.take()).toHaveLength(1 << 20);
});

test('large and small pieces of a message keep their order', () => {
  const sizes = fc.array(fc.constantFrom(1, 100, 9_000, 16_383, 16_384, 70_000), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const buffer = new MessageBuffer(1 << 24);
      const pieces = lengths.map((length, at) => Buffer.alloc(length, at + 1));
      for (const piece of pieces) buffer.append(piece);
      const message = buffer.take();
      expect(Buffer.isBuffer(message) && message.equals(Buffer.concat(pieces))).toBe(true);
    }),
  );
});

test('a message above maxWholeBytes stays in pieces, and is dropped above maxBytes', () => {
  const [maxBytes, maxWholeBytes] = [100_000, 1_000];
  const buffer = new MessageBuffer(maxBytes, maxWholeBytes);
  const pieces = ['{"id":7,"result":"', 'x'.repeat(40_000), 'y'.repeat(20_000), '"}'].map((text) =>
    Buffer.from(text),
  );
  for (const piece of pieces) buffer.append(piece);
  const message = buffer.take();
  if (!(message instanceof LargeMessage)) throw new Error('it is in one piece');
  expect(message.whole().equals(Buffer.concat(pieces))).toBe(true);
  // Large pieces are the received buffers, not copies.
  expect(
    message.pieces?.filter(({ length }) => length >= 20_000).map(({ buffer: memory }) => memory),
  ).toEqual(pieces.slice(1, 3).map(({ buffer: memory }) => memory));
  expect(message.answer()?.rawId).toBe('7');
  expect(buffer.length).toBe(0);

  for (const piece of [...pieces, ...pieces]) buffer.append(piece);
  expect(buffer.take()).toMatchObject({ pieces: undefined, size: 120_040, id: '7' });
  buffer.append(Buffer.from('small'));
  expect(buffer.take()).toEqual(Buffer.from('small'));
});
