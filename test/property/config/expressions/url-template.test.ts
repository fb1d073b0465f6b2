// Arbitrary text cannot leave the segment, query key or query value that it is in, and arrives unchanged
// (URL1).
// Invariant URL1 is in config/expressions/url-template.ts.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ExpressionError } from '../../../../config/expressions/expression.ts';
import { readParts } from '../../../../config/expressions/template.ts';
import { urlTemplate } from '../../../../config/expressions/url-template.ts';

const variables = { v: 'list<string>' };

const hostileValue = fc.constantFrom(
  ...[
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
  ],
  ...[
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
  ],
);
const anyText = fc.oneof(
  hostileValue,
  fc.string({ unit: 'binary' }),
  fc.array(hostileValue, { maxLength: 4 }).map((all) => all.join('')),
);
const literal = fc
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

interface Piece {
  readonly literal: string;
  /** Value following the literal text, if there is any. */
  readonly value: string | undefined;
}

const piece: fc.Arbitrary<Piece> = fc.record({ literal, value: fc.option(anyText, { nil: undefined }) });
const pathSegment = fc.array(piece, { minLength: 1, maxLength: 2 });
const parameter = fc.record({ key: pathSegment, value: pathSegment });

const origins = [
  'http://127.0.0.1:8792',
  'https://api.example.com',
  'https://[::1]:8443',
  'http://LOCALHOST',
  'https://bücher.example',
];

const hasValue = (pieces: readonly Piece[]) => pieces.some(({ value }) => value !== undefined);
const decoded = (pieces: readonly Piece[]) =>
  pieces.map((each) => decodeURIComponent(each.literal) + (each.value ?? '')).join('');
/** Encoded text. */
const raw = (pieces: readonly Piece[]) =>
  pieces
    .map(
      (each) =>
        each.literal + (each.value === undefined ? '' : encodeURIComponent(each.value.toWellFormed())),
    )
    .join('');

const isDots = (text: string) =>
  text.split(/%2f|%5c/i).some((segment) => /^(?:\.|%2e){1,2}(?:(?:;|%3b).*)?$/i.test(segment));

test('a URL has scheme, host, port, segments and parameters of the file, and each value arrives unchanged (URL1)', () => {
  let rendered = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...origins),
      fc.array(pathSegment, { maxLength: 4 }),
      fc.array(parameter, { maxLength: 3 }),
      (origin, segments, parameters) => {
        const values: string[] = [];
        const templateText = (pieces: readonly Piece[]) =>
          pieces
            .map(
              (each) =>
                each.literal + (each.value === undefined ? '' : `{{ v[${values.push(each.value) - 1}] }}`),
            )
            .join('');
        const path = segments.map((each) => `/${templateText(each)}`).join('');
        const query = parameters
          .map(({ key, value }) => `${templateText(key)}=${templateText(value)}`)
          .join('&');
        const text = `${origin}${path}${parameters.length > 0 ? `?${query}` : ''}`;
        fc.pre(values.length > 0 && /[/?]/.test(text.slice(origin.length)));
        // Literal dot segments are refused when the file is read.
        fc.pre(!segments.some((each) => !hasValue(each) && isDots(raw(each))));
        const parts = readParts(text, variables);
        if ('message' in parts) throw new Error(parts.message);
        const url = urlTemplate(parts, undefined);
        if ('message' in url) throw new Error(`${text}: ${url.message}`);
        const isRefused =
          values.some((value) => !value.isWellFormed()) ||
          segments.some((each) => hasValue(each) && (raw(each) === '' || isDots(raw(each))));
        if (isRefused) {
          expect(() => url.render({ v: values })).toThrow(ExpressionError);
          return;
        }
        rendered += 1;
        const sent = url.render({ v: values });
        const file = new URL(origin);
        expect([sent.protocol, sent.hostname, sent.port, sent.username, sent.password, sent.hash]).toEqual([
          ...[file.protocol, file.hostname, file.port, '', '', ''],
        ]);
        const received = sent.pathname.split('/').slice(1).map(decodeURIComponent);
        expect(received).toEqual(segments.length === 0 ? [''] : segments.map(decoded));
        expect([...sent.searchParams]).toEqual(
          parameters.map(({ key, value }) => [decoded(key), decoded(value)]),
        );
        // HttpApi parses path and query again.
        expect(new URL(file.origin + sent.pathname + sent.search).href).toBe(sent.href);
      },
    ),
    { numRuns: 2_000 },
  );
  expect(rendered).toBeGreaterThan(200);
});

test('a URL from a single expression always has an allowed prefix', () => {
  const start = fc.constantFrom(
    ...[
      'https://good.example/v1/',
      'https://good.example',
      'https:\\\\good.example\\v1\\',
      'https://good.example:443/v1/',
    ],
    ...[
      'https://good.example@evil.example/v1/',
      'https://good.example.evil.example/v1/',
      '//good.example/v1/',
      ' https://good.example/v1/',
    ],
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
      const { pathname } = new URL(sent.pathname.replaceAll(/%2f|%5c/gi, '/'), 'https://good.example');
      expect(pathname.startsWith('/v1/')).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  expect(rendered).toBeGreaterThan(100);
});
