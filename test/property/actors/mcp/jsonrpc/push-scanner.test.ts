// The scanner for JSON text in chunks (PushScanner), compared with the scanner for a whole text
// (JsonScanner). Both accept the same texts, for any cuts, and find the same members of the outermost object.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonScanner, MAX_DEPTH, NotJsonError } from '../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import { PushScanner } from '../../../../../actors/mcp/jsonrpc/push-scanner.ts';

interface Member {
  readonly rawName: string;
  readonly start: number;
  readonly end: number;
}

interface ScanResult {
  readonly isJson: boolean;
  readonly members: readonly Member[];
  readonly hasLineBreak: boolean;
}

/** Maximum number of characters in reported names and values. */
const MAX_RAW_CHARS = 256;
const OPENING_BRACE = 0x7b;

const notJson: ScanResult = { isJson: false, members: [], hasLineBreak: false };

function scanWhole(bytes: Buffer): ScanResult {
  const scanner = new JsonScanner(bytes);
  const members: Member[] = [];
  try {
    if (scanner.peek() !== OPENING_BRACE) scanner.value(0);
    else {
      scanner.object(0, (_, nameStart) => {
        const start = scanner.pos;
        const name = new JsonScanner(bytes, nameStart);
        name.string();
        scanner.value(1);
        const rawName = bytes.toString('latin1', nameStart, name.pos);
        members.push({ rawName: rawName.slice(0, MAX_RAW_CHARS), start, end: scanner.pos });
      });
    }
    scanner.end();
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    return notJson;
  }
  return { isJson: true, members, hasLineBreak: scanner.hasLineBreak };
}

function scanPieces(bytes: Buffer, cuts: readonly number[]): ScanResult {
  const members: Member[] = [];
  const scanner = new PushScanner((rawName, { start, end }, raw) => {
    const value = bytes.toString('latin1', start, end);
    // An object or array is reported without text.
    const isNested = value.startsWith('{') || value.startsWith('[');
    expect(raw).toBe(isNested ? '' : value.slice(0, MAX_RAW_CHARS));
    members.push({ rawName, start, end });
  });
  const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  for (const [at, border] of borders.entries()) {
    // Copies the pieces to different offsets, so that they have different memory alignments.
    const piece = Buffer.concat([Buffer.alloc(at % 5), bytes.subarray(borders[at - 1] ?? 0, border)]);
    scanner.feed(piece.subarray(at % 5));
  }
  expect(scanner.size).toBe(bytes.length);
  if (!scanner.isComplete) return notJson;
  const { firstLineBreak } = scanner;
  if (firstLineBreak !== undefined) expect([0x0a, 0x0d]).toContain(bytes[firstLineBreak]);
  return { isJson: true, members, hasLineBreak: firstLineBreak !== undefined };
}

const arbCuts = fc.array(fc.nat(), { maxLength: 30 });
const arbIndent = fc.constantFrom(undefined, 1, '\t', '\r', '\r\n ');
const arbName = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('id', 'result', '', '\\', 'x'.repeat(300)),
);
const arbValue = fc.oneof(
  fc.jsonValue(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0.5, 1e300, 1e-7, true, false, null, [], {}, '', 'x'.repeat(400)),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', 'é', '日', '\u0001', 'abcdefgh'), maxLength: 200 }),
);
const arbObject = fc.array(fc.tuple(arbName, arbValue), { maxLength: 6 }).map(Object.fromEntries);
const arbJson = fc.tuple(fc.oneof(arbObject, arbValue), arbIndent).map(([value, indent]) =>
  // Adds escapes that JSON.stringify does not write.
  JSON.stringify(value, undefined, indent).replaceAll('日', '\\u65e5').replaceAll('abc', 'a\\/c'),
);
/** Inserted text that may be an error at its position. */
const syntaxError = fc.oneof(
  fc.constantFrom(...'"\\,:{}[]0-.eE+utfn \n\r\t\0\u001f\u007f'.split('')),
  fc.constantFrom(
    '\\u12',
    '\\uD83',
    '\\x',
    'tru',
    'nul',
    '-',
    '01',
    '1.',
    '.5',
    '1e',
    '1e+',
    '\u00a0',
    '{}',
    '[]',
  ),
);

describe('a JSON text scanned in chunks', () => {
  test('is accepted with the same members as if scanned whole', () => {
    fc.assert(
      fc.property(arbJson, arbCuts, (text, cuts) => {
        const bytes = Buffer.from(text);
        const whole = scanWhole(bytes);
        expect(whole.isJson).toBe(true);
        expect(scanPieces(bytes, cuts)).toEqual(whole);
      }),
      { numRuns: 2000 },
    );
  });

  test('with syntax errors has the same result as if scanned whole', () => {
    fc.assert(
      fc.property(
        arbJson,
        // Errors: position, number of removed characters, and inserted text.
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 4 }), syntaxError), { minLength: 1, maxLength: 3 }),
        arbCuts,
        (text, errors, cuts) => {
          let broken = text;
          for (const [where, removed, inserted] of errors) {
            const from = where % (broken.length + 1);
            broken = broken.slice(0, from) + inserted + broken.slice(from + removed);
          }
          const bytes = Buffer.from(broken);
          expect(scanPieces(bytes, cuts)).toEqual(scanWhole(bytes));
        },
      ),
      { numRuns: 4000 },
    );
  });

  test('of random JSON characters has the same result as if scanned whole', () => {
    const randomCharacters = fc.string({
      unit: fc.constantFrom(...'{}[]",:\\u0123e.-+E truefalsn\r\n'.split('')),
      maxLength: 14,
    });
    fc.assert(
      fc.property(randomCharacters, arbCuts, (text, cuts) => {
        const bytes = Buffer.from(text);
        expect(scanPieces(bytes, cuts)).toEqual(scanWhole(bytes));
      }),
      { numRuns: 5000 },
    );
  });

  test('has the same result for any division into two chunks, and for chunks of one byte', () => {
    const texts = [
      '{"a":-12.50e+07,"b":[true,false,null,0,{"c":"\\u00e9\\n\\\\"}],"\\u0069d":"x" , "d" : 1E5}\r\n',
      '{"a":01}',
      '[1.]',
      '{"a":"\\u00g0"}',
      '{"a":"\\q"}',
      '[tru]',
      '[nulll]',
      '{"a":1,}',
      '[1,]',
      '{"a" 1}',
      '-',
      '0',
      '1e5',
      '"\u0001"',
      '[1}',
      '{"a":1]',
      '1 2',
      ']',
      ',',
      '',
    ];
    for (const text of texts) {
      const bytes = Buffer.from(text);
      const whole = scanWhole(bytes);
      const everywhere = Array.from({ length: bytes.length }, (_, at) => at);
      for (const cut of everywhere) expect(scanPieces(bytes, [cut])).toEqual(whole);
      expect(scanPieces(bytes, everywhere)).toEqual(whole);
    }
  });

  test('has the same maximum depth as a text scanned whole', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.integer({ min: 1, max: 2 * MAX_DEPTH }),
        arbCuts,
        (isArray, levels, cuts) => {
          const text = isArray
            ? '['.repeat(levels) + ']'.repeat(levels)
            : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
          const bytes = Buffer.from(text);
          const result = scanPieces(bytes, cuts);
          // The outermost value has depth 0.
          expect(result.isJson).toBe(levels <= MAX_DEPTH + 1);
          expect(result).toEqual(scanWhole(bytes));
        },
      ),
    );
  });
});
