// The `x-mcp-header` rules, with the examples of the specification.

import { describe, expect, test } from 'vitest';
import {
  annotationFault,
  encodeHeaderValue,
  hasAnnotations,
  hasInvalidAnnotations,
  paramHeaders,
} from '../../../../../../actors/mcp/links/streamable-http/param-headers.ts';
import {
  annotatedSchema,
  faultySchemas,
  plainSchemas,
  region,
  schemaOf,
} from '../../../../../fixtures/remote/annotated-schemas.ts';

test.each([
  ['us-west1', 'us-west1'],
  ['two words\tand a tab', 'two words\tand a tab'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['=?base64?=', '=?base64?PT9iYXNlNjQ/PQ==?='],
  ['=?base64?only a beginning', '=?base64?only a beginning'],
  ['', '=?base64??='],
])('the argument %j is sent in a header as %j', (value, header) => {
  expect(encodeHeaderValue(value)).toBe(header);
});

describe('the headers of a call', () => {
  test('contain values at any depth; numbers are decimal, booleans true or false', () => {
    const args = { region: 'us-west1', shard: -7, dry: false, to: { city: 'Köln' }, query: 'SELECT 1' };
    expect(hasAnnotations(annotatedSchema)).toBe(true);
    expect(paramHeaders(annotatedSchema, args)).toEqual({
      'mcp-param-region': 'us-west1',
      'mcp-param-shard': '-7',
      'mcp-param-dry-run': 'false',
      'mcp-param-city': '=?base64?S8O2bG4=?=',
    });
  });

  test.each([
    ['is missing', {}],
    ['is null', { region: null, to: null }],
    ['is an object', { region: {}, to: { city: [] } }],
    ['lost digits in parsing', { shard: 2 ** 60 }],
    ['is in an array', { to: ['x'] }],
    ['is inherited', Object.create({ region: 'x' })],
  ])('omit a value that %s', (_what, args) => {
    expect(paramHeaders(annotatedSchema, args)).toEqual({});
  });

  test.each([undefined, null, 'text', 1, []])(
    'are empty for arguments that are not an object: %j',
    (args) => {
      expect(paramHeaders(annotatedSchema, args)).toEqual({});
    },
  );

  test('do not read inherited object properties', () => {
    const odd = JSON.parse(
      '{"properties":{"__proto__":{"type":"string","x-mcp-header":"A"},"toString":{"type":"string","x-mcp-header":"B"}}}',
    );
    expect(paramHeaders(odd, {})).toEqual({});
    expect(paramHeaders(odd, JSON.parse('{"__proto__":"own","toString":"too"}'))).toEqual({
      'mcp-param-a': 'own',
      'mcp-param-b': 'too',
    });
  });
});

describe('an input schema', () => {
  test.each([['is true', true] as const, ['is missing', undefined] as const, ...plainSchemas])(
    'that %s has neither headers nor errors',
    (_what, schema) => {
      expect(hasAnnotations(schema)).toBe(false);
      expect(hasInvalidAnnotations(schema)).toBe(false);
      expect(paramHeaders(schema, { 'x-mcp-header': 'x', a: 'x' })).toEqual({});
    },
  );

  test.each(faultySchemas)(
    'with an invalid annotation (%s) excludes the tool, and yields no header',
    (_what, schema) => {
      expect(annotationFault(schema)).toContain('x-mcp-header');
      expect(hasInvalidAnnotations(schema)).toBe(true);
      expect(hasAnnotations(schema)).toBe(false);
      expect(paramHeaders(schema, { a: 'x' })).toEqual({});
    },
  );

  test('with an invalid annotation is reported with the path of the annotation', () => {
    expect(annotationFault(schemaOf({ to: schemaOf({ n: { ...region, type: 'number' } }) }))).toBe(
      'the `x-mcp-header` of "to.n" is not on a string, an integer or a boolean',
    );
  });
});
