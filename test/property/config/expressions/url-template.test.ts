// URLs with expressions, rendered with hostile values (url-template.ts). A value cannot leave the segment,
// query key or query value that it is in, and arrives unchanged (rule URL1). A URL from a single expression
// has an allowed prefix.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ExpressionError } from '../../../../config/expressions/expression.ts';
import { readParts } from '../../../../config/expressions/template.ts';
import { urlTemplate } from '../../../../config/expressions/url-template.ts';

const variables = { v: 'list<string>' };

const hostileValue = fc.constantFrom(
  '',
  '.',
  '..',
  '%2e',
  '%2e%2e',
  '.%2E',
  '/',
  '../',
  '..\\',
  '%2f',
  '?',
  '#',
  '&',
  '=',
  '+',
  ' ',
  '%',
  '2e',
  'e',
  '@evil.example',
  ':8080',
  '//evil.example',
  '\r\n',
  '\t',
  '\0',
  'é',
  '。',
  '\ud800',
  '{{ 1 }}',
  ';v=1',
  '..;',
);
const anyText = fc.oneof(
  hostileValue,
  fc.string({ unit: 'binary' }),
  fc.array(hostileValue, { maxLength: 4 }).map((all) => all.join('')),
);
/** Literal template text. */
const arbLiteral = fc
  .array(
    fc.constantFrom(
      'a',
      'B',
      '0',
      '.',
      '..',
      '~',
      '-',
      '_',
      'é',
      ':',
      '@',
      ';',
      ',',
      '!',
      '%20',
      '%2e',
      '%252f',
    ),
    {
      maxLength: 3,
    },
  )
  .map((all) => all.join(''));

/** A template part. */
interface Piece {
  readonly literal: string;
  /** Value following the literal text, if there is any. */
  readonly value: string | undefined;
}

const arbPiece: fc.Arbitrary<Piece> = fc.record({
  literal: arbLiteral,
  value: fc.option(anyText, { nil: undefined }),
});
const arbSegment = fc.array(arbPiece, { minLength: 1, maxLength: 2 });
const arbParameter = fc.record({ key: arbSegment, value: arbSegment });

const origins = [
  'http://127.0.0.1:8792',
  'https://api.example.com',
  'https://[::1]:8443',
  'http://LOCALHOST',
  'https://bücher.example',
];

const hasValue = (pieces: readonly Piece[]) => pieces.some(({ value }) => value !== undefined);
const decodedText = (pieces: readonly Piece[]) =>
  pieces.map((each) => decodeURIComponent(each.literal) + (each.value ?? '')).join('');
/** Text of the pieces in a URL. */
const encodedText = (pieces: readonly Piece[]) =>
  pieces
    .map(
      (each) =>
        each.literal + (each.value === undefined ? '' : encodeURIComponent(each.value.toWellFormed())),
    )
    .join('');

/**
 * Returns true for `.` and `..`, also if they are encoded, have parameters, or are next to an encoded slash.
 */
const hasDotSegment = (text: string) =>
  text.split(/%2f|%5c/i).some((segment) => /^(?:\.|%2e){1,2}(?:(?:;|%3b).*)?$/i.test(segment));

test('values inserted into a URL template arrive unchanged, and alter neither its host nor its structure (URL1)', () => {
  /** Number of rendered URLs. All other URLs are refused. */
  let rendered = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...origins),
      fc.array(arbSegment, { maxLength: 4 }),
      fc.array(arbParameter, { maxLength: 3 }),
      (origin, segments, parameters) => {
        const values: string[] = [];
        /** Returns a template for a value, and adds the value to `values`. */
        const templateOf = (value: string) => `{{ v[${values.push(value) - 1}] }}`;
        const templateText = (pieces: readonly Piece[]) =>
          pieces
            .map(({ literal, value }) => literal + (value === undefined ? '' : templateOf(value)))
            .join('');
        const path = segments.map((each) => `/${templateText(each)}`).join('');
        const query = parameters
          .map(({ key, value }) => `${templateText(key)}=${templateText(value)}`)
          .join('&');
        const text = `${origin}${path}${parameters.length > 0 ? `?${query}` : ''}`;
        fc.pre(values.length > 0 && /[/?]/.test(text.slice(origin.length)));
        // Literal dot segments are refused when the file is read.
        fc.pre(!segments.some((each) => !hasValue(each) && hasDotSegment(encodedText(each))));
        const parts = readParts(text, variables);
        if ('message' in parts) throw new Error(parts.message);
        const url = urlTemplate(parts, undefined);
        if ('message' in url) throw new Error(`${text}: ${url.message}`);
        const isRefused =
          values.some((value) => !value.isWellFormed()) ||
          segments.some(
            (each) => hasValue(each) && (encodedText(each) === '' || hasDotSegment(encodedText(each))),
          );
        if (isRefused) {
          expect(() => url.render({ v: values })).toThrow(ExpressionError);
          return;
        }
        rendered += 1;
        const sent = url.render({ v: values });
        const expected = new URL(origin);
        expect([sent.protocol, sent.hostname, sent.port]).toEqual([
          expected.protocol,
          expected.hostname,
          expected.port,
        ]);
        expect([sent.username, sent.password, sent.hash]).toEqual(['', '', '']);
        const received = sent.pathname.split('/').slice(1).map(decodeURIComponent);
        expect(received).toEqual(segments.length === 0 ? [''] : segments.map(decodedText));
        expect([...sent.searchParams]).toEqual(
          parameters.map(({ key, value }) => [decodedText(key), decodedText(value)]),
        );
        // The HTTP client (HttpApi) parses path and query again. This does not change the URL.
        expect(new URL(expected.origin + sent.pathname + sent.search).href).toBe(sent.href);
      },
    ),
    { numRuns: 2_000 },
  );
  expect(rendered).toBeGreaterThan(200);
});

test('a URL from a single expression always has an allowed prefix', () => {
  // The first four are equivalent to the allowed prefix or are prefixes of it. The last four are forgeries.
  const start = fc.constantFrom(
    'https://good.example/v1/',
    'https://good.example',
    'https:\\\\good.example\\v1\\',
    'https://good.example:443/v1/',
    'https://good.example@evil.example/v1/',
    'https://good.example.evil.example/v1/',
    '//good.example/v1/',
    ' https://good.example/v1/',
  );
  const parts = readParts('{{ v[0] }}', variables);
  if ('message' in parts) throw new Error(parts.message);
  const url = urlTemplate(parts, [new URL('https://good.example/v1/')]);
  if ('message' in url) throw new Error(url.message);
  let rendered = 0;
  fc.assert(
    fc.property(start, fc.array(anyText, { maxLength: 5 }), (prefix, rest) => {
      let sent: URL;
      try {
        sent = url.render({ v: [prefix + rest.join('')] });
      } catch (error) {
        expect(error).toBeInstanceOf(ExpressionError);
        return;
      }
      rendered += 1;
      expect(sent.href.startsWith('https://good.example/v1/')).toBe(true);
      // A server may decode slashes. Even then, the path starts with the prefix.
      const { pathname } = new URL(sent.pathname.replaceAll(/%2f|%5c/gi, '/'), 'https://good.example');
      expect(pathname.startsWith('/v1/')).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  expect(rendered).toBeGreaterThan(100);
});
