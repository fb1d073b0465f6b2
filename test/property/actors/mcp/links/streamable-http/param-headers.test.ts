// Whatever a value, an argument or a schema may be: a header is legal and decodes to what stands in the body (PM1).

import { validateHeaderName, validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  encodeHeaderValue,
  hasInvalidAnnotations,
  paramHeaders,
} from '../../../../../../actors/mcp/links/streamable-http/param-headers.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';

/** As the specification has it for servers. */
function decoded(value: string): string {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const bytes = Buffer.from(value.slice(9, -2), 'base64');
  expect(bytes.toString('base64')).toBe(value.slice(9, -2));
  return bytes.toString('utf8');
}

/** Text that is likely to be mistaken for something else. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom(' ', '\t', 'a', 'é', '\r', '\n', '\0', '\x7f', '=', '?') }),
  fc.string().map((inner) => `=?base64?${inner}?=`),
  fc.string().map((inner) => `=?base64?${Buffer.from(inner).toString('base64')}?=`),
);

test('a value is legal header text that survives a reader of headers, and decodes to itself', () => {
  fc.assert(
    fc.property(text, (value) => {
      const header = encodeHeaderValue(value);
      expect(header).toMatch(/^[\t\x20-\x7e]+$/);
      expect(header.trim()).toBe(header);
      expect(decoded(header)).toBe(value);
    }),
    { numRuns: runs(2_000) },
  );
});

test('plain text is left readable', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9._~:/-]+$/), (value) => {
      expect(encodeHeaderValue(value)).toBe(value);
    }),
  );
});

/** A schema with annotations on some of its properties, and arguments for it. */
const leaf = fc.constantFrom('string', 'integer', 'boolean');
const name = fc.oneof(
  fc.constantFrom('a', 'B', 'x-mcp-header', '__proto__', 'type'),
  fc.string({ minLength: 1 }),
);

const annotated = fc
  .uniqueArray(fc.record({ path: fc.array(name, { minLength: 1, maxLength: 4 }), type: leaf, value: text }), {
    maxLength: 6,
    // No path may lead through another's value.
    selector: ({ path }) => path[0],
  })
  .map((places) =>
    places.map((place, index) => ({
      ...place,
      value:
        place.type === 'string'
          ? place.value
          : place.type === 'boolean'
            ? index % 2 === 0
            : index * 1_000 - 2_500,
    })),
  );

/** As `JSON.parse` makes objects: any name is an own member. */
function nested(path: readonly string[], inner: unknown, key?: string): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return inner;
  const object = Object.fromEntries([[first, nested(rest, inner, key)]]);
  return key === undefined ? object : { type: 'object', [key]: object };
}

function merged(parts: readonly unknown[]): object {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part as object)));
}

test('each annotated value has its header, and there are no others', () => {
  fc.assert(
    fc.property(annotated, (places) => {
      const schema = {
        type: 'object',
        properties: merged(
          places.map(({ path, type }, index) => {
            const whole = nested(path, { type, 'x-mcp-header': `H${index}` }, 'properties') as {
              properties: object;
            };
            return whole.properties;
          }),
        ),
      };
      const given = merged(places.map(({ path, value }) => nested(path, value)));
      expect(hasInvalidAnnotations(schema)).toBe(false);
      const headers = paramHeaders(schema, given);
      expect(Object.keys(headers).toSorted()).toEqual(
        places.map((_, index) => `mcp-param-h${index}`).toSorted(),
      );
      places.forEach(({ value }, index) => {
        expect(decoded(headers[`mcp-param-h${index}`] ?? '')).toBe(String(value));
      });
    }),
  );
});

test('any schema and any arguments yield headers that HTTP allows, and never throw', () => {
  const schema = fc.letrec((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.jsonValue(),
      fc.record(
        {
          type: fc.constantFrom('string', 'integer', 'boolean', 'number', 'object'),
          'x-mcp-header': fc.oneof(fc.string(), fc.constantFrom('Region', 'region', 'A')),
        },
        { requiredKeys: [] },
      ),
      fc.record(
        {
          properties: fc.dictionary(name, tie('node')),
          items: tie('node'),
          anyOf: fc.array(tie('node')),
          $defs: fc.dictionary(name, tie('node')),
        },
        { requiredKeys: [] },
      ),
    ),
  })).node;
  fc.assert(
    fc.property(schema, fc.jsonValue(), (inputSchema, given) => {
      const headers = paramHeaders(inputSchema, given);
      if (hasInvalidAnnotations(inputSchema)) expect(headers).toEqual({});
      for (const [header, value] of Object.entries(headers)) {
        validateHeaderName(header);
        validateHeaderValue(header, value);
      }
    }),
    { numRuns: runs(300) },
  );
});
