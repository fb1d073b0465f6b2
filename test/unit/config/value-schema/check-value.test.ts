// Checks of values with a schema, compared with a widely used validator.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { checkValue } from '../../../../config/value-schema/check-value.ts';

const schemas: readonly object[] = [
  { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false },
  { type: ['string', 'null'], minLength: 2, maxLength: 3, pattern: '^a+$' },
  { type: 'number', minimum: 0, exclusiveMaximum: 1, multipleOf: 0.25 },
  {
    type: 'array',
    items: { type: 'number' },
    prefixItems: [{ type: 'string' }],
    uniqueItems: true,
    maxItems: 3,
  },
  { enum: [1, 'a', { b: [1], c: null }] },
  { const: { c: null, b: [1] } },
  { anyOf: [{ type: 'string' }, { type: 'object', minProperties: 2 }] },
  { oneOf: [{ type: 'integer' }, { type: 'number', minimum: 2 }] },
  { allOf: [{ type: 'object' }, { maxProperties: 1 }], not: { required: ['b'] } },
];
const values: readonly unknown[] = [
  ...[null, true, 0, 0.3, 0.75, 1, 2, 2.5, -1, '', 'a', 'aa', 'ab', 'aaaa', '𝒂𝒂'],
  ...[
    [],
    ['a'],
    ['a', 1, 2],
    ['a', 1, 1],
    ['a', 1, 2, 3],
    [1, 'a'],
    [
      { x: 1, y: 2 },
      { y: 2, x: 1 },
    ],
  ],
  ...[{}, { a: 1 }, { a: 1.5 }, { a: 1, b: 2 }, { b: [1], c: null }, { b: [2], c: null }, { b: 1 }],
];

test.each(schemas.map((schema) => [JSON.stringify(schema), schema] as const))(
  'checkValue accepts the same values as Ajv for %s',
  (_, schema) => {
    const validate = new Ajv2020({ strict: false }).compile(schema);
    const finds = (pattern: string, text: string) => new RegExp(pattern, 'u').test(text);
    const checked = values.map((value) => ({ value, ...checkValue(schema, value, finds) }));
    expect(checked.flatMap(({ unchecked }) => unchecked)).toEqual([]);
    const fitting = checked.filter(({ findings }) => findings.length === 0).map(({ value }) => value);
    expect(fitting).toEqual(values.filter((value) => validate(value)));
    expect(fitting.length).toBeGreaterThan(0);
    expect(fitting.length).toBeLessThan(values.length);
  },
);

test.each([
  [{ minimum: 1 }, 0, 'must be at least 1'],
  [{ maximum: 1 }, 2, 'must be at most 1'],
  [{ exclusiveMinimum: 0 }, 0, 'must be more than 0'],
  [{ exclusiveMaximum: 1 }, 1, 'must be less than 1'],
  [{ multipleOf: 2 }, 3, 'must be a multiple of 2'],
  [{ minLength: 2 }, 'a', 'must have at least 2 characters'],
  [{ maxLength: 1 }, 'ab', 'must have at most 1 characters'],
  [{ minItems: 1 }, [], 'must have at least 1 items'],
])('a value that violates the schema limit %j is reported in plain words', (schema, value, text) => {
  expect(checkValue(schema, value).findings).toMatchObject([{ text }]);
});
