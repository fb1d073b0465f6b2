import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';

// Few characters, so that secrets overlap, repeat and begin alike; none of them is in the mark itself.
const unit = fc.constantFrom('x', 'y', '"', '/', ' ', 'ü', '🎭', '%');
const secret = fc.string({ unit, minLength: 8, maxLength: 12 });
const piece = fc.string({ unit, maxLength: 8 });
const spelling = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => encodeURIComponent(text),
  (text) => new URLSearchParams({ k: text }).toString().slice(2),
);

describe('a redactor', () => {
  test('leaves no secret in any text, however it is spelt', () => {
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 4 }),
        fc.array(fc.tuple(piece, fc.nat(), spelling)),
        (secrets, parts) => {
          const text = parts
            .map(([before, which, spelt]) => before + spelt(secrets[which % secrets.length] ?? ''))
            .join('');
          const shown = new Redactor(secrets).redact(text);
          for (const each of secrets) expect(shown).not.toContain(each);
          for (const [, which, spelt] of parts)
            expect(shown).not.toContain(spelt(secrets[which % secrets.length] ?? ''));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('changes nothing but secrets', () => {
    fc.assert(
      fc.property(
        fc.array(piece),
        fc.string({ unit: fc.constantFrom('A', 'B'), minLength: 8 }),
        (pieces, hidden) => {
          expect(new Redactor([hidden]).redact(pieces.join(hidden))).toBe(
            pieces.join('[redacted]').replace(/(?:\[redacted\])+/g, '[redacted]'),
          );
        },
      ),
    );
  });

  test('shows in an excerpt no character of a secret, wherever the text is cut', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 30 }),
        fc.nat({ max: 30 }),
        fc.nat({ max: 60 }),
        fc.nat({ max: 60 }),
        (before, after, maxChars, kept) => {
          const hidden = 'SECRETSECRET';
          const whole = `${'-'.repeat(before)}${hidden}${'-'.repeat(after)}`;
          const redactor = new Redactor([hidden]);
          expect(redactor.excerpt(whole, maxChars)).not.toMatch(/[A-Z]/);
          expect(redactor.excerpt(whole.slice(0, kept), maxChars, kept < whole.length)).not.toMatch(/[A-Z]/);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
