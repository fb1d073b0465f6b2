// Long JSON strings, compared with JSON.parse. The scanner reads them four bytes at a time. It finds invalid
// bytes at any position and memory alignment.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonScanner, NotJsonError } from '../../../../../actors/mcp/jsonrpc/json-scanner.ts';

test('a long string is valid exactly if JSON.parse accepts it, at any position and memory alignment', () => {
  const specialText = fc.constantFrom(
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
  // Up to 200 valid characters.
  const arbPlainText = fc.nat({ max: 200 }).map((length) => 'x~ !#['.repeat(40).slice(0, length));
  fc.assert(
    fc.property(
      fc.nat({ max: 7 }),
      arbPlainText,
      specialText,
      arbPlainText,
      specialText,
      arbPlainText,
      (shift, ...parts) => {
        const text = Buffer.from(`"${parts.join('')}"`);
        // Moves the text by `shift` bytes in memory.
        const bytes = Buffer.concat([Buffer.alloc(shift), text]).subarray(shift);
        const scanner = new JsonScanner(bytes);
        let isAccepted = true;
        try {
          scanner.value(0);
          scanner.end();
        } catch (error) {
          expect(error).toBeInstanceOf(NotJsonError);
          isAccepted = false;
        }
        let isJson = true;
        try {
          JSON.parse(text.toString());
        } catch {
          isJson = false;
        }
        expect(isAccepted).toBe(isJson);
      },
    ),
    { numRuns: 3000 },
  );
});
