// Whatever a tool takes can be typed: values as words of a command line, read by the schema, are the same values.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Arguments, readArguments } from '../../../src/cli/mcp/call-values.ts';
import { fieldsOf } from '../../../src/cli/mcp/schema-fields.ts';
import { exampleWords, wordsOf } from '../../../src/cli/mcp/value-words.ts';

/** A schema with a value that fits it. */
interface Case {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}

/** As JSON has it: that knows no minus zero. */
const json = fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
/** As whatever may be taken for something else. */
const text = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '1',
    '-0.5',
    'true',
    'null',
    'yes',
    '{}',
    '[]',
    '{"a":1}',
    '["a"]',
    '"a"',
    '',
    ' ',
    'a=b',
    ':=1',
  ),
);
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => (each === 0 ? 0 : each));

const plain: fc.Arbitrary<Case> = fc.oneof(
  text.map((value) => ({ schema: { type: 'string' }, value })),
  fc.maxSafeInteger().map((value) => ({ schema: { type: 'integer' }, value })),
  number.map((value) => ({ schema: { type: 'number' }, value })),
  fc.boolean().map((value) => ({ schema: { type: 'boolean' }, value })),
  fc
    .uniqueArray(fc.oneof(text, fc.integer(), fc.boolean()), { minLength: 1 })
    .chain((choices) => fc.constantFrom(...choices).map((value) => ({ schema: { enum: choices }, value }))),
  fc.oneof(text, fc.constant(null)).map((value) => ({ schema: { type: ['string', 'null'] }, value })),
  fc.oneof(text, fc.integer(), fc.boolean()).map((value) => ({
    schema: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'boolean' }] },
    value,
  })),
  json.map((value) => ({ schema: {}, value })),
);

const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 8 }).filter((each) => !/[=.]/.test(each)),
  fc.constantFrom('__proto__', 'toString', 'a:', '-', 'größe'),
);

const objectOf = (member: fc.Arbitrary<Case>): fc.Arbitrary<Case> =>
  fc.uniqueArray(fc.tuple(name, member), { maxLength: 4, selector: ([each]) => each }).map((members) => ({
    schema: {
      type: 'object',
      properties: Object.fromEntries(members.map(([each, { schema }]) => [each, schema])),
      required: members.map(([each]) => each),
    },
    value: Object.fromEntries(members.map(([each, { value }]) => [each, value])),
  }));

const listOf = (item: fc.Arbitrary<Case>): fc.Arbitrary<Case> =>
  item.chain(({ schema, value }) =>
    fc
      .array(fc.constant(value), { maxLength: 3 })
      .map((list) => ({ schema: { type: 'array', items: schema }, value: list })),
  );

const any = fc.oneof(
  plain,
  listOf(plain),
  listOf(listOf(plain)),
  objectOf(plain),
  listOf(objectOf(plain)),
  objectOf(objectOf(plain)),
);
const input = objectOf(any);

describe('values of a call', () => {
  test('CLV1: are read from their words as they were, whatever their schema', () => {
    fc.assert(
      fc.property(input, ({ schema, value }) => {
        const read = readArguments(schema, wordsOf(schema, value as Arguments));
        expect(read.problems).toEqual([]);
        expect(read.values).toEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test('of an example made from a schema are whole: nothing required is missing', () => {
    fc.assert(
      fc.property(input, ({ schema }) => {
        // As a shell gives them to the program.
        const words = exampleWords(schema).map((word) =>
          word.startsWith("'") ? word.slice(1, -1).replaceAll(`'\\''`, "'") : word,
        );
        expect(readArguments(schema, words).problems).toEqual([]);
      }),
    );
  });

  test('never throw for any words and any schema, and nothing that is read is of another type than the schema has', () => {
    const schemas = fc.oneof(
      input.map(({ schema }) => schema),
      fc.dictionary(fc.constantFrom('properties', 'required', '$ref', 'allOf', 'type', 'items'), json),
    );
    fc.assert(
      fc.property(
        schemas,
        fc.array(
          fc.oneof(
            fc.string(),
            fc.tuple(name, text).map(([one, other]) => `${one}=${other}`),
          ),
        ),
        (schema, words) => {
          const { values } = readArguments(schema, words);
          for (const { name: each, types } of fieldsOf(schema)) {
            if (!Object.hasOwn(values, each)) continue;
            if (types.length === 1 && types[0] === 'boolean' && words.every((word) => !word.includes(':=')))
              expect(typeof values[each]).toBe('boolean');
          }
        },
      ),
    );
  });
});
