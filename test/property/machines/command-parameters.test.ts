// What is written for given values is read as the same values, whichever way each is written.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Parameter } from '../../../config/resources/triggers/binding.ts';
import { commandParameters } from '../../../machines/command-parameters.ts';

const names = fc.uniqueArray(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,5}$/), {
  minLength: 1,
  maxLength: 5,
});
const declared = (name: string): Parameter => ({
  name,
  required: true,
  description: undefined,
  default: undefined,
});
const quoted = (value: string) => `"${value.replace(/[\\"]/g, '\\$&')}"`;
const gap = fc.stringMatching(/^[ \t\n]{1,3}$/);
const value = fc.string({ maxLength: 12 });

describe('parameters of a command', () => {
  test('come back from quoted values, by name or by place', () => {
    fc.assert(
      fc.property(
        names.chain((list) =>
          fc.tuple(
            fc.constant(list),
            fc.array(fc.tuple(value, fc.boolean(), gap), { minLength: list.length, maxLength: list.length }),
          ),
        ),
        ([list, parts]) => {
          const text = list
            .map((name, index) => {
              const [text = '', isNamed = false, space = ' '] = parts[index] ?? [];
              return `${space}${isNamed ? `${name}=` : ''}${quoted(text)}`;
            })
            .join('');
          const read = commandParameters(list.map(declared), text);
          expect(read).toMatchObject({ isMissing: false });
          const expected = list.map((name, index) => [name, parts[index]?.[0]]);
          if (!read.isMissing) expect(Object.entries(read.values).sort()).toEqual(expected.sort());
        },
      ),
      { numRuns: 500 },
    );
  });

  test('by name may stand in any order', () => {
    fc.assert(
      fc.property(
        names.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        value,
        ([list, shuffled], text) => {
          const written = shuffled.map((name, index) => `${name}=${quoted(text + index)}`).join(' ');
          const read = commandParameters(list.map(declared), written);
          const expected = Object.fromEntries(shuffled.map((name, index) => [name, text + index]));
          expect(read.isMissing ? undefined : { ...read.values }).toEqual(expected);
        },
      ),
    );
  });

  test('never fail, whatever the text, and one alone is all of it (CPA1)', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc
        .array(fc.constantFrom('"', "'", '\\', '=', 'a=', ' ', 'x', '\n'), { maxLength: 30 })
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (written) => {
        const read = commandParameters([{ ...declared('only'), required: false }], written);
        expect(read.isMissing).toBe(false);
        if (!read.isMissing && !/["'=]/.test(written) && written.trim() !== '')
          expect(read.values.only).toBe(written.trim());
      }),
      { numRuns: 1000 },
    );
  });
});
