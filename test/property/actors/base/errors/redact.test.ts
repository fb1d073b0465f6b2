// Redaction of random secrets in random texts. No secret remains, also in the encodings of JSON and URLs, and
// other text is unchanged.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';

// Few characters, so that secrets overlap, repeat and share prefixes. The redaction mark contains none of
// them.
const unit = fc.constantFrom('x', 'y', '"', '/', ' ', 'ü', '🎭', '%');
const secret = fc.string({ unit, minLength: 8, maxLength: 12 });
const piece = fc.string({ unit, maxLength: 8 });
/** A redactor with many secrets searches in another way. */
const manySecrets = Array.from({ length: 300 }, (_, n) => `AAAA${n}AAAA`);
const encoding = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => encodeURIComponent(text),
  (text) => new URLSearchParams({ k: text }).toString().slice(2),
);

describe('a redactor', () => {
  test('leaves no secret in any text, in any encoding', () => {
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 4 }),
        // Text before the secret, index of the secret (modulo their number), and its encoding.
        fc.array(fc.tuple(piece, fc.nat(), encoding)),
        (secrets, parts) => {
          const secretAt = (n: number) => secrets[n % secrets.length] ?? '';
          const text = parts.map(([before, n, encode]) => before + encode(secretAt(n))).join('');
          const redacted = new Redactor(secrets).redact(text);
          expect(new Redactor([...secrets, ...manySecrets]).redact(text)).toBe(redacted);
          for (const each of secrets) expect(redacted).not.toContain(each);
          for (const [, n, encode] of parts) expect(redacted).not.toContain(encode(secretAt(n)));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('changes only secrets', () => {
    fc.assert(
      fc.property(
        fc.array(piece),
        fc.string({ unit: fc.constantFrom('A', 'B'), minLength: 8 }),
        (pieces, hidden) => {
          // Adjacent secrets have one common mark.
          expect(new Redactor([hidden]).redact(pieces.join(hidden))).toBe(
            pieces.join('[redacted]').replace(/(?:\[redacted\])+/g, '[redacted]'),
          );
        },
      ),
    );
  });

  test('shows no character of a secret in an excerpt, even if the text was cut within the secret', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 30 }),
        fc.nat({ max: 30 }),
        fc.nat({ max: 60 }),
        fc.nat({ max: 60 }),
        (before, after, maxChars, cutAt) => {
          // Only the secret has capital letters.
          const hidden = 'SECRETSECRET';
          const whole = `${'-'.repeat(before)}${hidden}${'-'.repeat(after)}`;
          const redactor = new Redactor([hidden]);
          expect(redactor.excerpt(whole, maxChars)).not.toMatch(/[A-Z]/);
          expect(redactor.excerpt(whole.slice(0, cutAt), maxChars, cutAt < whole.length)).not.toMatch(
            /[A-Z]/,
          );
        },
      ),
      { numRuns: 1000 },
    );
  });
});
