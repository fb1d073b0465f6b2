// Decoding of large bodies: in slices, and with limited memory.

import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { OverloadedError } from '../../../../../actors/base/errors/errors.ts';
import { decodeBody } from '../../../../../actors/platforms/webhooks/body-encoding.ts';

const MAX_BYTES = 16 * 1024 * 1024;
const gzip = { 'content-encoding': 'gzip' };

test('a body that is not encoded is returned unchanged and immediately', () => {
  const body = Buffer.from('x');
  expect(decodeBody({ 'content-type': 'text/plain; charset=utf-8' }, body, MAX_BYTES)).toBe(body);
});

test('a character at the border of two slices is decoded whole, and half a character is refused', async () => {
  // The first unit shifts the pairs of units, so that a slice ends within a pair.
  const text = `a${'😀'.repeat(40_000)}`;
  const body = Buffer.from(text, 'utf16le');
  const type = { 'content-type': 'text/plain; charset=utf-16le' };
  expect((await decodeBody(type, body, MAX_BYTES)).toString()).toBe(text);
  expect(await decodeBody(type, body.subarray(0, -2), MAX_BYTES)).toMatchObject({ status: 400 });
});

test('concurrent decodings share a memory limit, which they release', async () => {
  const bomb = gzipSync(Buffer.alloc(MAX_BYTES));
  const results = await Promise.allSettled(
    Array.from({ length: 24 }, async () => decodeBody(gzip, bomb, MAX_BYTES)),
  );
  const reasons = results.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  expect(reasons.length).toBeGreaterThan(12);
  for (const reason of reasons) expect(reason).toBeInstanceOf(OverloadedError);
  expect(await decodeBody(gzip, bomb, MAX_BYTES)).toHaveLength(MAX_BYTES);
  expect(await decodeBody(gzip, bomb, MAX_BYTES - 1)).toMatchObject({ status: 413 });
});
