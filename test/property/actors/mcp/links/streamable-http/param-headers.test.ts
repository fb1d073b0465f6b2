// HTTP headers of tool arguments (`x-mcp-header` in the tool schema). For random values, arguments and
// schemas, the headers are valid and decode to the arguments in the body.

import { validateHeaderName, validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  encodeHeaderValue,
  hasInvalidAnnotations,
  paramHeaders,
} from '../../../../../../actors/mcp/links/streamable-http/param-headers.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';

/** Decodes a value as the specification requires of servers. */
function decode(value: string): string {
  const [prefix, suffix] = ['=?base64?', '?='];
  if (!value.startsWith(prefix) || !value.endsWith(suffix)) return value;
  const base64 = value.slice(prefix.length, -suffix.length);
  const bytes = Buffer.from(base64, 'base64');
  expect(bytes.toString('base64')).toBe(base64);
  return bytes.toString('utf8');
}

/** Any text, and text that resembles encoded values. */
const arbText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom(' ', '\t', 'a', 'é', '\r', '\n', '\0', '\x7f', '=', '?') }),
  fc.string().map((inner) => `=?base64?${inner}?=`),
  fc.string().map((inner) => `=?base64?${Buffer.from(inner).toString('base64')}?=`),
);

test('a tool argument encoded for an HTTP header is valid header text and decodes to the same argument', () => {
  fc.assert(
    fc.property(arbText, (value) => {
      const header = encodeHeaderValue(value);
      expect(header).toMatch(/^[\t\x20-\x7e]+$/);
      expect(header.trim()).toBe(header);
      expect(decode(header)).toBe(value);
    }),
    { numRuns: runs(2_000) },
  );
});

test('an argument that is plain header text is not encoded', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9._~:/-]+$/), (value) => {
      expect(encodeHeaderValue(value)).toBe(value);
    }),
  );
});

const propertyType = fc.constantFrom('string', 'integer', 'boolean');
const arbName = fc.oneof(
  fc.constantFrom('a', 'B', 'x-mcp-header', '__proto__', 'type'),
  fc.string({ minLength: 1 }),
);

/** Returns an argument of the type. */
function argumentOf(type: string, text: string, index: number): string | boolean | number {
  if (type === 'string') return text;
  return type === 'boolean' ? index % 2 === 0 : index * 1_000 - 2_500;
}

/** Annotated schema properties, each with its path, type and argument. */
const annotated = fc
  .uniqueArray(
    fc.record({
      path: fc.array(arbName, { minLength: 1, maxLength: 4 }),
      type: propertyType,
      value: arbText,
    }),
    {
      maxLength: 6,
      // No path leads through the value of another annotated property.
      selector: ({ path }) => path[0],
    },
  )
  .map((leaves) =>
    leaves.map((leaf, index) => ({ ...leaf, value: argumentOf(leaf.type, leaf.value, index) })),
  );

/**
 * Wraps the value into objects along the path. With `key`, each object is a schema with its properties under
 * that key. Any name is an own member, as with `JSON.parse`, even `__proto__`.
 */
function nest(path: readonly string[], value: unknown, key?: string): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  const object = Object.fromEntries([[first, nest(rest, value, key)]]);
  return key === undefined ? object : { type: 'object', [key]: object };
}

function merge(parts: readonly unknown[]): object {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part as object)));
}

test('each tool argument whose schema has x-mcp-header is sent as its header, and no other argument is', () => {
  fc.assert(
    fc.property(annotated, (leaves) => {
      const schema = {
        type: 'object',
        properties: merge(
          leaves.map(({ path, type }, index) => {
            const whole = nest(path, { type, 'x-mcp-header': `H${index}` }, 'properties') as {
              properties: object;
            };
            return whole.properties;
          }),
        ),
      };
      const args = merge(leaves.map(({ path, value }) => nest(path, value)));
      expect(hasInvalidAnnotations(schema)).toBe(false);
      const headers = paramHeaders(schema, args);
      expect(Object.keys(headers).toSorted()).toEqual(
        leaves.map((_, index) => `mcp-param-h${index}`).toSorted(),
      );
      leaves.forEach(({ value }, index) => {
        expect(decode(headers[`mcp-param-h${index}`] ?? '')).toBe(String(value));
      });
    }),
  );
});

test('building parameter headers from any schema and arguments never throws and yields valid HTTP headers', () => {
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
          properties: fc.dictionary(arbName, tie('node')),
          items: tie('node'),
          anyOf: fc.array(tie('node')),
          $defs: fc.dictionary(arbName, tie('node')),
        },
        { requiredKeys: [] },
      ),
    ),
  })).node;
  fc.assert(
    fc.property(schema, fc.jsonValue(), (inputSchema, args) => {
      const headers = paramHeaders(inputSchema, args);
      if (hasInvalidAnnotations(inputSchema)) expect(headers).toEqual({});
      for (const [header, value] of Object.entries(headers)) {
        validateHeaderName(header);
        validateHeaderValue(header, value);
      }
    }),
    { numRuns: runs(300) },
  );
});
