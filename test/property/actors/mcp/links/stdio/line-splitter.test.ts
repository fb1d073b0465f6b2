// The splitter of output into lines (line-splitter.ts). Lines do not depend on the chunks of the output.
// Lines above the limit are only reported, with their JSON-RPC id. Large lines arrive in pieces.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineSplitter } from '../../../../../../actors/mcp/links/stdio/line-splitter.ts';

interface SplitResult {
  readonly lines: string[];
  readonly oversized: { size: number; id: string | undefined }[];
  /** Text after the last line end. */
  readonly rest: string;
}

/** Splits `bytes` in chunks that end at `cuts`. */
function split(bytes: Buffer, cuts: readonly number[], maxBytes: number): SplitResult {
  const lines: string[] = [];
  const oversized: { size: number; id: string | undefined }[] = [];
  const splitter = new LineSplitter(maxBytes, {
    onLine: (line) => lines.push(line.toString('latin1')),
    onOversized: (size, id) => oversized.push({ size, id }),
  });
  const borders = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])];
  borders.sort((a, b) => a - b);
  for (const [index, border] of borders.entries())
    splitter.push(Buffer.from(bytes.subarray(borders[index - 1] ?? 0, border)));
  return { lines, oversized, rest: splitter.end().toString('latin1') };
}

// Few different characters, so that carriage returns, line feeds and multi-byte characters meet often.
const arbLine = fc.string({ unit: fc.constantFrom('a', '\r', 'ü', '€', '🎭', ' '), maxLength: 12 });
const arbCuts = fc.array(fc.nat(), { maxLength: 40 });

describe('the line splitter', () => {
  test('returns the same lines however the input is divided into chunks', () => {
    fc.assert(
      fc.property(fc.array(arbLine), arbLine, arbCuts, (lines, rest, cuts) => {
        const bytes = Buffer.from(`${lines.map((each) => `${each}\n`).join('')}${rest}`);
        const expected = lines.map((each) => Buffer.from(each.replace(/\r$/, '')).toString('latin1'));
        expect(split(bytes, cuts, 1000)).toEqual({
          lines: expected,
          oversized: [],
          rest: Buffer.from(rest).toString('latin1'),
        });
      }),
      { numRuns: 500 },
    );
  });

  test('reports exactly the lines above the limit, with their request ids, for any input chunks', () => {
    const message = fc.record({ id: fc.nat(), text: fc.string({ maxLength: 30 }) });
    fc.assert(
      fc.property(fc.array(message), fc.boolean(), arbCuts, (messages, hasCarriageReturn, cuts) => {
        const limit = 32;
        const lineEnd = Buffer.from(hasCarriageReturn ? '\r\n' : '\n');
        const texts = messages.map((each) => Buffer.from(JSON.stringify(each)));
        const bytes = Buffer.concat(texts.flatMap((text) => [text, lineEnd]));
        const result = split(bytes, cuts, limit);
        expect(result.lines).toEqual(
          texts.filter((text) => text.length <= limit).map((text) => text.toString('latin1')),
        );
        const tooLong = messages.filter((_, index) => (texts[index]?.length ?? 0) > limit);
        expect(result.oversized.map(({ id }) => id)).toEqual(tooLong.map(({ id }) => String(id)));
      }),
      { numRuns: 500 },
    );
  });

  test('returns a large line in pieces if the caller accepts pieces, up to the exact limit', () => {
    const limit = 400_000;
    /** Lines above this size, in bytes, come in pieces. */
    const largeSize = 262_144;
    fc.assert(
      fc.property(
        fc.constantFrom(200_000, largeSize, largeSize + 1, 300_000, limit - 1, limit, limit + 1, limit + 2),
        fc.constantFrom('\n', '\r\n'),
        fc.integer({ min: 1000, max: 70_000 }),
        (size, end, step) => {
          // The other characters of the line are 20 bytes.
          const text = `{"id":7,"result":"${'x'.repeat(size - 20)}"}`;
          const bytes = Buffer.from(`small${end}${text}${end}small${end}`);
          const result: string[] = [];
          const splitter = new LineSplitter(limit, {
            onLine: (line) => result.push(line.toString()),
            onLarge: (message) => {
              // The envelope of a valid response.
              const answer = message.answer();
              result.push(`${answer?.rawId} in pieces, ${answer?.bytes.equals(Buffer.from(text))}`);
            },
            onOversized: (length, id) => result.push(`oversized ${length} ${id}`),
          });
          for (let at = 0; at < bytes.length; at += step)
            splitter.push(Buffer.from(bytes.subarray(at, at + step)));
          expect(result).toHaveLength(3);
          expect([result[0], result[2]]).toEqual(['small', 'small']);
          // A carriage return counts as text until the line feed arrives: the size may be one byte larger.
          if (size > limit)
            expect(result[1]).toMatch(new RegExp(`^oversized ${size} 7|^oversized ${size + 1} 7`));
          else if (size > largeSize) expect(result[1]).toBe('7 in pieces, true');
          // A line of exactly `largeSize` bytes may come in pieces if a carriage return follows.
          else expect([text, '7 in pieces, true']).toContain(result[1]);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('accepts a line of the exact limit, and rejects one byte more, with either line end', () => {
    for (const end of ['\n', '\r\n']) {
      const result = split(Buffer.from(`${'a'.repeat(8)}${end}${'b'.repeat(9)}${end}c${end}`), [], 8);
      expect(result.lines).toEqual(['aaaaaaaa', 'c']);
      expect(result.oversized).toHaveLength(1);
    }
  });

  test('processes a line in linear time', () => {
    const timeFor = (megabytes: number): number => {
      const chunk = Buffer.alloc(1024, 'x');
      let count = 0;
      const splitter = new LineSplitter(64 * 1024 * 1024, {
        onLine: (bytes) => {
          count += bytes.length;
        },
        onOversized: () => {},
      });
      const start = performance.now();
      for (let at = 0; at < megabytes * 1024; at += 1) splitter.push(chunk);
      splitter.push(Buffer.from('\n'));
      expect(count).toBe(megabytes * 1024 * 1024);
      return performance.now() - start;
    };
    timeFor(1);
    // Sixteen times the length takes 256 times as long with quadratic copying. The limit is 100 times.
    const small = Math.min(timeFor(2), timeFor(2), timeFor(2));
    expect(timeFor(32)).toBeLessThan(Math.max(small, 5) * 100);
  });

  test('stores little of a line far above the limit', () => {
    const splitter = new LineSplitter(1024, { onLine: () => {}, onOversized: () => {} });
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const before = process.memoryUsage().arrayBuffers;
    // 20 MB. At most 2 MB are kept.
    for (let at = 0; at < 320; at += 1) splitter.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * 1024 * 1024);
  });
});
