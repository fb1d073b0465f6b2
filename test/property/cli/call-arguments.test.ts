// Arguments of tool calls as command-line words. For any values, parsing their words with the schema of the
// tool returns the same values.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { argumentWords, exampleWords } from '../../../src/cli/mcp/argument-words.ts';
import { type Arguments, readArguments } from '../../../src/cli/mcp/call-arguments.ts';
import { fieldsOf } from '../../../src/cli/mcp/schema-fields.ts';

/** A schema with a matching value. */
interface SchemaWithValue {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}

/** Any JSON value. Parsing removes negative zeros, which JSON does not keep. */
const json = fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
/** Texts that resemble other types. */
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
/** Without negative zero. */
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => (each === 0 ? 0 : each));

const plain: fc.Arbitrary<SchemaWithValue> = fc.oneof(
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

const objectOf = (member: fc.Arbitrary<SchemaWithValue>): fc.Arbitrary<SchemaWithValue> =>
  fc.uniqueArray(fc.tuple(name, member), { maxLength: 4, selector: ([key]) => key }).map((members) => ({
    schema: {
      type: 'object',
      properties: Object.fromEntries(members.map(([key, { schema }]) => [key, schema])),
      required: members.map(([key]) => key),
    },
    value: Object.fromEntries(members.map(([key, { value }]) => [key, value])),
  }));

const listOf = (item: fc.Arbitrary<SchemaWithValue>): fc.Arbitrary<SchemaWithValue> =>
  item.chain(({ schema, value }) =>
    fc
      .array(fc.constant(value), { maxLength: 3 })
      .map((list) => ({ schema: { type: 'array', items: schema }, value: list })),
  );

const nested = fc.oneof(
  plain,
  listOf(plain),
  listOf(listOf(plain)),
  objectOf(plain),
  listOf(objectOf(plain)),
  objectOf(objectOf(plain)),
);
/** A tool's input schema, with call arguments. */
const anyInput = objectOf(nested);

describe('tool arguments on the command line', () => {
  test('are parsed back unchanged after formatting, for any schema', () => {
    fc.assert(
      fc.property(anyInput, ({ schema, value }) => {
        const parsed = readArguments(schema, argumentWords(schema, value as Arguments));
        expect(parsed.problems).toEqual([]);
        expect(parsed.values).toEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test('in a generated example are complete and valid', () => {
    fc.assert(
      fc.property(anyInput, ({ schema }) => {
        // A shell removes the quotes.
        const argumentTexts = exampleWords(schema).map((argumentText) =>
          argumentText.startsWith("'") ? argumentText.slice(1, -1).replaceAll(`'\\''`, "'") : argumentText,
        );
        expect(readArguments(schema, argumentTexts).problems).toEqual([]);
      }),
    );
  });

  test('cause no exception for any schema, and NAME=VALUE for a boolean field is a boolean', () => {
    const schemas = fc.oneof(
      anyInput.map(({ schema }) => schema),
      fc.dictionary(fc.constantFrom('properties', 'required', '$ref', 'allOf', 'type', 'items'), json),
    );
    fc.assert(
      fc.property(
        schemas,
        fc.array(
          fc.oneof(
            fc.string(),
            fc.tuple(name, text).map(([key, value]) => `${key}=${value}`),
          ),
        ),
        (schema, argumentTexts) => {
          const { values } = readArguments(schema, argumentTexts);
          // An argument with `:=` contains raw JSON of any type.
          const hasRawJson = argumentTexts.some((argumentText) => argumentText.includes(':='));
          for (const field of fieldsOf(schema)) {
            const isBoolean = field.types.length === 1 && field.types[0] === 'boolean';
            if (Object.hasOwn(values, field.name) && isBoolean && !hasRawJson)
              expect(typeof values[field.name]).toBe('boolean');
          }
        },
      ),
    );
  });
});
