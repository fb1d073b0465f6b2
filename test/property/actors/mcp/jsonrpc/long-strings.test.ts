// Long strings are scanned four bytes at a time; invalid bytes are found at any offset.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonScanner, NotJsonError } from '../../../../../actors/mcp/jsonrpc/json-scanner.ts';

test('a long string is valid exactly if JSON.parse accepts it, at any position and memory alignment', () => {
  const odd = fc.constantFrom(
    '"',
    '\\',
    '\\"',
    '\\n',
    '\\u00e9',
    '\\u00g9',
    '\\x',
    '\n',
    '\0',
    '\x1f',
    '\x7f',
    '!',
    '#',
    '[',
    ']',
    'é',
    '日',
    '',
  );
  const plain = fc.nat({ max: 200 }).map((length) => 'x~ !#['.repeat(40).slice(0, length));
  fc.assert(
    fc.property(fc.nat({ max: 7 }), plain, odd, plain, odd, plain, (shift, ...parts) => {
      const text = Buffer.from(`"${parts.join('')}"`);
      const bytes = Buffer.concat([Buffer.alloc(shift), text]).subarray(shift);
      const scanner = new JsonScanner(bytes);
      let isTaken = true;
      try {
        scanner.value(0);
        scanner.end();
      } catch (error) {
        expect(error).toBeInstanceOf(NotJsonError);
        isTaken = false;
      }
      let isJson = true;
      try {
        JSON.parse(text.toString());
      } catch {
        isJson = false;
      }
      expect(isTaken).toBe(isJson);
    }),
    { numRuns: 3000 },
  );
});
