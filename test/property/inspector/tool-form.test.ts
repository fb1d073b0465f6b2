// Forms of the inspector for tools with random argument schemas. A submitted form returns a value that the
// schema accepts, or lists the keywords that the form does not check. The model is the validator ajv.

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkValue } from '../../../config/value-schema/check-value.ts';
import {
  type ArgumentField,
  type FieldDraft,
  fieldsOf,
  keyOf,
} from '../../../src/inspector/page/tools/fields.ts';
import { jsonOf, parseForm, parseJson } from '../../../src/inspector/page/tools/parse-form.ts';

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  ownProperties: true,
  validateFormats: false,
  logger: false,
});

const arbName = fc.constantFrom(
  'a',
  'b',
  'c d',
  'constructor',
  'toString',
  '<b>',
  'a/b',
  'x~1',
  '\u202e',
  '名',
);
const arbScalar = fc.oneof(
  fc.integer({ min: -3, max: 30 }),
  fc.constantFrom('', 'a', 'bc', 'true', '7', '<i>'),
  fc.boolean(),
  fc.constant(null),
);
const arbBound = fc.integer({ min: 0, max: 6 });
/** Generates a schema with some of these keywords. */
const optionalKeywords = <T>(keywords: Record<string, fc.Arbitrary<T>>) =>
  fc.record(keywords, { requiredKeys: [] });

/**
 * Generates schemas with nested objects, arrays and combinations. References lead to `$defs/one` or nowhere.
 */
const { schema: anySchema } = fc.letrec<{ schema: unknown; object: unknown }>((tie) => ({
  object: fc.record(
    {
      type: fc.constant('object'),
      properties: fc.dictionary(arbName, tie('schema'), { maxKeys: 4 }),
      required: fc.uniqueArray(arbName, { maxLength: 3 }),
      additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
      minProperties: arbBound,
      patternProperties: fc.constant({ '^a': { type: 'number' } }),
      propertyNames: fc.constant({ maxLength: 3 }),
    },
    { requiredKeys: ['type', 'properties'] },
  ),
  schema: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'schema' },
    optionalKeywords<unknown>({
      type: fc.constant('string'),
      minLength: arbBound,
      maxLength: arbBound,
      default: arbScalar,
      pattern: fc.constant('^a'),
      description: fc.string(),
    }),
    optionalKeywords<unknown>({
      type: fc.constantFrom('number', 'integer'),
      minimum: arbBound,
      exclusiveMaximum: arbBound,
      multipleOf: fc.integer({ min: 1, max: 4 }),
      default: arbScalar,
    }),
    fc.record({
      type: fc.constantFrom<unknown>('boolean', 'null', ['string', 'null'], ['integer', 'boolean']),
    }),
    fc.record({ enum: fc.uniqueArray(arbScalar, { minLength: 1, maxLength: 4 }) }),
    fc.record({ const: arbScalar }),
    fc.constantFrom<unknown>(
      true,
      false,
      {},
      { $ref: '#/$defs/one' },
      { $ref: '#/$defs/none' },
      { not: {} },
      { format: 'uri' },
      { $ref: '#/$defs/one', description: 'd' },
    ),
    tie('object'),
    fc.record(
      {
        type: fc.constant('array'),
        items: tie('schema'),
        minItems: arbBound,
        maxItems: arbBound,
        uniqueItems: fc.boolean(),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
  ),
}));
const argumentsSchema = fc
  .tuple(
    fc.dictionary(arbName, anySchema, { maxKeys: 5 }),
    fc.uniqueArray(arbName, { maxLength: 4 }),
    anySchema,
    fc.option(fc.boolean()),
  )
  .map(([properties, required, one, additionalProperties]) => ({
    type: 'object',
    properties,
    required,
    $defs: { one },
    ...(additionalProperties === null ? {} : { additionalProperties }),
  }));

/** Returns true if ajv accepts the value. Undefined if ajv refuses the schema, or overflows the stack. */
function isValid(schema: object, value: unknown): boolean | undefined {
  try {
    return ajv.compile(schema)(value) as boolean;
  } catch {
    return undefined;
  } finally {
    // ajv caches every schema.
    ajv.removeSchema();
  }
}

/** Returns the fields that have an input, including those in groups. */
function leavesOf(fields: readonly ArgumentField[]): Exclude<ArgumentField, { kind: 'group' }>[] {
  return fields.flatMap((field) => (field.kind === 'group' ? leavesOf(field.fields) : [field]));
}

/** Input by a person: a text, or a checkbox state. */
const arbDraft: fc.Arbitrary<FieldDraft> = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    '2',
    'a',
    'abc',
    '3.5',
    '-1',
    '1e3',
    'a\nb',
    '1\n1\n2',
    'true',
    '{}',
    '[1]',
    '"a"',
    'null',
    '{"a": 1}',
    'x',
  ),
  fc.boolean(),
);

describe('the form of a tool', () => {
  test('returns a value that the schema accepts, or lists the schema keywords that it did not check', () => {
    let acceptedCount = 0;
    fc.assert(
      fc.property(argumentsSchema, fc.array(arbDraft, { minLength: 1, maxLength: 12 }), (schema, drafts) => {
        const fields = fieldsOf(schema);
        expect(fields).toBeDefined();
        if (fields === undefined) return;
        const inputValues = new Map(
          leavesOf(fields).map(({ path }, at) => [keyOf(path), drafts[at % drafts.length] ?? '']),
        );
        const { args, problems, unchecked } = parseForm(schema, fields, inputValues);
        expect(args === undefined).toBe(problems.size > 0);
        if (args === undefined) return;
        acceptedCount += 1;
        if (isValid(schema, args) === false)
          expect(unchecked.length, JSON.stringify([schema, args])).toBeGreaterThan(0);
        // The JSON editor returns the same.
        expect(parseJson(schema, jsonOf(fields, inputValues)).args).toEqual(args);
      }),
      { numRuns: 400 },
    );
    // Enough forms were accepted, so that their values were checked.
    expect(acceptedCount).toBeGreaterThan(30);
  });

  test('reports no error for values that the schema accepts', () => {
    const value = fc.dictionary(
      arbName,
      fc.oneof(
        arbScalar,
        fc.array(arbScalar, { maxLength: 3 }),
        fc.dictionary(arbName, arbScalar, { maxKeys: 3 }),
      ),
      { maxKeys: 4 },
    );
    fc.assert(
      fc.property(argumentsSchema, value, (schema, args) => {
        const { findings, unchecked } = checkValue(schema, args);
        const isAcceptedByAjv = isValid(schema, args);
        if (isAcceptedByAjv === true) expect(findings, JSON.stringify([schema, args])).toEqual([]);
        else if (isAcceptedByAjv === false && findings.length === 0)
          expect(unchecked.length, JSON.stringify([schema, args])).toBeGreaterThan(0);
      }),
      { numRuns: 400 },
    );
  });

  test('can be created from any JSON as its schema, and reads any input', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (schema, value) => {
        const fields = fieldsOf(schema) ?? [];
        parseForm(schema, fields, new Map());
        parseJson(schema, JSON.stringify(value));
      }),
      { numRuns: 500 },
    );
  });
});
