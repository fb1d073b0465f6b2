// Request bodies that arrive in pieces. The stored body has all bytes in order, and `costOf` reports a memory
// size that is neither too small nor much too large.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyPieces } from '../../../../src/http/body/incoming-body.ts';

const size = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1_000, max: 90_000 }));

test('a request body equals its received chunks joined, and its reported memory is at least its size', () => {
  fc.assert(
    fc.property(fc.array(size, { maxLength: 60 }), (sizes) => {
      const pieces = new BodyPieces();
      const sent = sizes.map((length, index) => Buffer.alloc(length, index));
      let cost = 0;
      let bytes = 0;
      for (const piece of sent) {
        cost += pieces.costOf(piece.length);
        pieces.add(piece);
        bytes += piece.length;
        expect(cost).toBeGreaterThanOrEqual(bytes);
        // Blocks may be partly empty: they grow with the content, and a large piece gets another block.
        expect(cost).toBeLessThanOrEqual(4 * bytes + 2_000 * sent.length);
      }
      expect(pieces.whole().equals(Buffer.concat(sent))).toBe(true);
      pieces.clear();
      expect(pieces.whole()).toHaveLength(0);
    }),
    { numRuns: 200 },
  );
});

test('a hundred thousand one-byte pieces are stored in a few blocks, and a body in one piece is not copied', () => {
  const pieces = new BodyPieces();
  let cost = 0;
  // A buffer per piece would cost much more than two bytes per piece.
  for (let count = 0; count < 100_000; count += 1) {
    cost += pieces.costOf(1);
    pieces.add(Buffer.alloc(1, 7));
  }
  expect(cost).toBeLessThan(200_000);
  expect(pieces.whole()).toHaveLength(100_000);
  const singlePiece = new BodyPieces();
  const bytes = Buffer.alloc(900_000);
  singlePiece.add(bytes);
  expect(singlePiece.whole()).toBe(bytes);
});
