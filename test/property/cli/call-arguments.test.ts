// All argument values of tool calls can be written as command-line words. The schema converts the words back
// to the same values.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { argumentWords, exampleWords } from '../../../src/cli/mcp/argument-words.ts';
import { type Arguments, readArguments } from '../../../src/cli/mcp/call-arguments.ts';
import { fieldsOf } from '../../../src/cli/mcp/schema-fields.ts';

/** A schema with a matching value. */
interface Case {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}

/** As in JSON, which has no negative zero. */
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
  test('that are written as words are read back unchanged for any schema', () => {
    fc.assert(
      fc.property(input, ({ schema, value }) => {
        const parsed = readArguments(schema, argumentWords(schema, value as Arguments));
        expect(parsed.problems).toEqual([]);
        expect(parsed.values).toEqual(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test('of a generated example are complete', () => {
    fc.assert(
      fc.property(input, ({ schema }) => {
        // As a shell passes them to the program.
        const argumentTexts = exampleWords(schema).map((argumentText) =>
          argumentText.startsWith("'") ? argumentText.slice(1, -1).replaceAll(`'\\''`, "'") : argumentText,
        );
        expect(readArguments(schema, argumentTexts).problems).toEqual([]);
      }),
    );
  });

  test('cause no exception for any words and schema; NAME=VALUE (not raw JSON by :=) is a boolean in a boolean field', () => {
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
        (schema, argumentTexts) => {
          const { values } = readArguments(schema, argumentTexts);
          for (const { name: each, types } of fieldsOf(schema)) {
            if (!Object.hasOwn(values, each)) continue;
            if (
              types.length === 1 &&
              types[0] === 'boolean' &&
              argumentTexts.every((argumentText) => !argumentText.includes(':='))
            )
              expect(typeof values[each]).toBe('boolean');
          }
        },
      ),
    );
  });
});
