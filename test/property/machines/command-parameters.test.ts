// Parameters in the text of a command. A text that is written for some values, in any notation, is read back
// as the same values.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Parameter } from '../../../config/resources/triggers/binding.ts';
import { commandParameters } from '../../../machines/command-parameters.ts';

const anyNames = fc.uniqueArray(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,5}$/), {
  minLength: 1,
  maxLength: 5,
});
const requiredParameter = (name: string): Parameter => ({
  name,
  required: true,
  description: undefined,
  default: undefined,
});
/** Returns the value in quotes, with a backslash before quotes and backslashes. */
const quoted = (value: string) => `"${value.replace(/[\\"]/g, '\\$&')}"`;
const gap = fc.stringMatching(/^[ \t\n]{1,3}$/);
const value = fc.string({ maxLength: 12 });

describe('parameters of a command', () => {
  test('are read back from quoted values, by name or by position', () => {
    fc.assert(
      fc.property(
        anyNames.chain((names) =>
          fc.tuple(
            fc.constant(names),
            fc.array(fc.tuple(value, fc.boolean(), gap), {
              minLength: names.length,
              maxLength: names.length,
            }),
          ),
        ),
        ([names, parts]) => {
          const text = names
            .map((name, index) => {
              const [partValue = '', isNamed = false, space = ' '] = parts[index] ?? [];
              return `${space}${isNamed ? `${name}=` : ''}${quoted(partValue)}`;
            })
            .join('');
          const result = commandParameters(names.map(requiredParameter), text);
          expect(result).toMatchObject({ isMissing: false });
          const expected = names.map((name, index) => [name, parts[index]?.[0]]);
          if (!result.isMissing) expect(Object.entries(result.values).sort()).toEqual(expected.sort());
        },
      ),
      { numRuns: 500 },
    );
  });

  test('given by name may be in any order', () => {
    fc.assert(
      fc.property(
        anyNames.chain((names) =>
          fc.tuple(fc.constant(names), fc.shuffledSubarray(names, { minLength: names.length })),
        ),
        value,
        ([names, shuffled], text) => {
          const input = shuffled.map((name, index) => `${name}=${quoted(text + index)}`).join(' ');
          const result = commandParameters(names.map(requiredParameter), input);
          const expected = Object.fromEntries(shuffled.map((name, index) => [name, text + index]));
          expect(result.isMissing ? undefined : { ...result.values }).toEqual(expected);
        },
      ),
    );
  });

  test('accept any text, and a single parameter takes all of it', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc
        .array(fc.constantFrom('"', "'", '\\', '=', 'a=', ' ', 'x', '\n'), { maxLength: 30 })
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (input) => {
        const result = commandParameters([{ ...requiredParameter('only'), required: false }], input);
        expect(result.isMissing).toBe(false);
        // Quotes are removed, and a text before an equals sign may be a name.
        if (!result.isMissing && !/["'=]/.test(input) && input.trim() !== '')
          expect(result.values.only).toBe(input.trim());
      }),
      { numRuns: 1000 },
    );
  });
});
