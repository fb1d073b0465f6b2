// Result schemas that clients with SDK v1 can compile, and schemas for which they reject the list.

import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isCompilable } from '../../../../../../actors/mcp/servers/lists/output-schema.ts';

function compiles(schema: object): boolean {
  try {
    new AjvJsonSchemaValidator().getValidator(schema);
    return true;
  } catch {
    return false;
  }
}

const withProperty = (property: unknown, more: object = {}) => ({
  type: 'object',
  properties: { a: property },
  ...more,
});

describe('an output schema', () => {
  test.each<[string, object]>([
    ['plain', withProperty({ type: ['string', 'null'], format: 'date', default: null, examples: [] })],
    ['with references', withProperty({ $ref: '#/$defs/a~1b' }, { $defs: { 'a/b': { enum: [1] } } })],
    ['that references itself', withProperty({ type: 'array', items: { $ref: '#' } })],
    ['of TypeScript', withProperty({ anyOf: [{ const: 1 }, { not: {} }] }, { additionalProperties: false })],
    ['with patterns', withProperty({ pattern: '^\\p{L}+$' }, { patternProperties: { '^x-': true } })],
    [
      'with unknown keywords',
      withProperty({ type: 'number', 'x-unit': [5], title: 't' }, { $schema: 'http://a' }),
    ],
  ])('%s is compiled by the SDK and accepted by the gateway', (_, schema) => {
    expect([compiles(schema), isCompilable(schema)]).toEqual([true, true]);
  });

  test.each<[string, object]>([
    ['an unknown type', withProperty({ type: 'strin' })],
    ['a reference to nothing', withProperty({ $ref: '#/$defs/a' })],
    ['a reference to another document', withProperty({ $ref: 'https://example.com/a' })],
    ['an invalid pattern', withProperty({ type: 'string', pattern: '(?<!' })],
    ['a null schema', withProperty({ items: null })],
    ['draft 4', withProperty({ type: 'number', minimum: 1, exclusiveMinimum: true })],
    ['an identifier of draft 4', withProperty({ type: 'string', id: 'a' })],
    ['a list that is an object', withProperty({ anyOf: { a: {} } })],
    ['nullable without a type', withProperty({ nullable: true })],
    ...['%', ':', 'urn:x', 'http://[', 'toString'].map(($id): [string, object] => [
      `the identifier ${$id}`,
      withProperty({ $ref: '#/$defs/b' }, { $id, $defs: { b: {} } }),
    ]),
  ])('with %s is rejected by the SDK and the gateway', (_, schema) => {
    expect([compiles(schema), isCompilable(schema)]).toEqual([false, false]);
  });

  test('is compiled by the SDK with every identifier that the gateway accepts', () => {
    const piece = fc.constantFrom(
      ...['%', '%41', '/', '//', ':', '#', '?', '.', '..', 'a', '2', '@'],
      'https:',
    );
    const anyId = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(anyId, ($id) => {
        const schema = withProperty({ $ref: '#/$defs/b' }, { $id, $defs: { b: {} } });
        expect(compiles(schema) || !isCompilable(schema)).toBe(true);
      }),
      { numRuns: 1000, examples: [['https://example.com/a.json'], ['a/b#'], ['__proto__']] },
    );
  });
});
