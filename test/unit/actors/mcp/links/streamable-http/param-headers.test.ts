// The rules of `x-mcp-header` one by one, with the examples of the specification.

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
])('the value %j travels as %j', (value, header) => {
  expect(encodeHeaderValue(value)).toBe(header);
});

describe('headers of a call', () => {
  test('hold the annotated values at any depth, in their decimal, true and false spelling', () => {
    const given = { region: 'us-west1', shard: -7, dry: false, to: { city: 'Köln' }, query: 'SELECT 1' };
    expect(hasAnnotations(annotatedSchema)).toBe(true);
    expect(paramHeaders(annotatedSchema, given)).toEqual({
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
    ['stands in an array', { to: ['x'] }],
    ['is inherited', Object.create({ region: 'x' })],
  ])('leave out a value that %s', (_what, given) => {
    expect(paramHeaders(annotatedSchema, given)).toEqual({});
  });

  test.each([undefined, null, 'text', 1, []])('are none for arguments that are no object: %j', (given) => {
    expect(paramHeaders(annotatedSchema, given)).toEqual({});
  });

  test('take no inherited member for a value', () => {
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

describe('a schema', () => {
  test.each([['is true', true] as const, ['is missing', undefined] as const, ...plainSchemas])(
    'that %s has neither headers nor faults',
    (_what, schema) => {
      expect(hasAnnotations(schema)).toBe(false);
      expect(hasInvalidAnnotations(schema)).toBe(false);
      expect(paramHeaders(schema, { 'x-mcp-header': 'x', a: 'x' })).toEqual({});
    },
  );

  test.each(faultySchemas)(
    'with an annotation of %s must be left out, and yields no header (PM2)',
    (_what, schema) => {
      expect(annotationFault(schema)).toContain('x-mcp-header');
      expect(hasInvalidAnnotations(schema)).toBe(true);
      expect(hasAnnotations(schema)).toBe(false);
      expect(paramHeaders(schema, { a: 'x' })).toEqual({});
    },
  );

  test('that is faulty is told in a way that shows where', () => {
    expect(annotationFault(schemaOf({ to: schemaOf({ n: { ...region, type: 'number' } }) }))).toBe(
      'the `x-mcp-header` of "to.n" is on something else than a string, an integer or a boolean',
    );
  });
});
