// The scanner and the envelope against JSON.parse, which knows nothing of them: what one accepts the other accepts,
// what one reads the other reads, whatever the white space, the escapes, the order and the depth.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import type { Envelope } from '../../../../../actors/mcp/jsonrpc/envelope.ts';
import {
  JsonScanner,
  MAX_DEPTH,
  NotJsonError,
  textOf,
} from '../../../../../actors/mcp/jsonrpc/json-scanner.ts';
import { readClientMessage, readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault } from '../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { holds, rawJson, rawOf, type Span, whole } from '../../../../../actors/mcp/jsonrpc/span.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });
const bareSpace = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 2 });

/** A string's JSON, with any character written as itself, in short or as \u. */
function spelling(value: string): fc.Arbitrary<string> {
  return fc.infiniteStream(fc.nat({ max: 3 })).map((ways) => {
    let out = '';
    for (const unit of value.split('')) {
      const isLone = /[\ud800-\udfff]/.test(unit);
      const way = ways.next().value;
      const short = JSON.stringify(unit).slice(1, -1);
      const code = unit.charCodeAt(0).toString(16).padStart(4, '0');
      if (way === 0 || isLone) out += `\\u${code}`;
      else if (way === 1) out += `\\u${code.toUpperCase()}`;
      else if (unit === '/' && way === 2) out += '\\/';
      else out += short;
    }
    return `"${out}"`;
  });
}

const anyText = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.string());
const anyString = anyText.chain(spelling);
const anyNumber = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.bigInt().map(String),
  fc.constantFrom(
    '9007199254740993',
    '1.0',
    '1e400',
    '-0',
    '-0.0',
    '1E+2',
    '0e0',
    '123456789012345678901234567890',
  ),
);

const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false'),
    anyNumber,
    anyString,
    fc
      .array(
        fc.tuple(space, tie('json'), space).map((parts) => parts.join('')),
        { maxLength: 4 },
      )
      .map((items) => `[${items.join(',') || ' '}]`),
    fc
      .array(
        fc
          .tuple(space, anyString, space, space, tie('json'), space)
          .map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`),
        { maxLength: 4 },
      )
      .map((members) => `{${members.join(',')}}`),
  ),
}));

function isAcceptedByModel(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isAccepted(text: string): boolean {
  const scanner = new JsonScanner(Buffer.from(text));
  try {
    scanner.value(0);
    scanner.end();
    return true;
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    return false;
  }
}

/** Lone surrogates cannot be written as UTF-8: they become another text on the way. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

describe('the scanner', () => {
  test('accepts whatever JSON.parse accepts', () => {
    fc.assert(
      fc.property(space, json, space, (before, text, after) => {
        const whole = before + text + after;
        expect(isAcceptedByModel(whole)).toBe(true);
        expect(isAccepted(whole)).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  test('judges text with a slip in it as JSON.parse does', () => {
    const slip = fc.oneof(
      fc.constantFrom(
        '"',
        '\\',
        ',',
        ':',
        '{',
        '}',
        '[',
        ']',
        '0',
        '-',
        '.',
        'e',
        '+',
        'u',
        'x',
        'null',
        ' ',
        '\n',
      ),
      fc.constantFrom(
        '\0',
        '\u0001',
        '\u001f',
        '\u007f',
        '\u00a0',
        '\u2028',
        '\ufeff',
        '\v',
        '\f',
        '//',
        "'",
        'NaN',
      ),
      fc.string({ unit: 'binary', maxLength: 2 }).filter(isWellFormed),
    );
    fc.assert(
      fc.property(json, fc.nat(), fc.nat({ max: 3 }), slip, (text, where, length, inserted) => {
        const at = where % (text.length + 1);
        const broken = text.slice(0, at) + inserted + text.slice(at + length);
        fc.pre(isWellFormed(broken));
        expect(isAccepted(broken)).toBe(isAcceptedByModel(broken));
      }),
      { numRuns: runs(3000) },
    );
  });

  test('judges short soups of JSON characters as JSON.parse does', () => {
    const soup = fc.string({ unit: fc.constantFrom(...'{}[],:"\\u0d12-+.eEtrufalsn \n\t'), maxLength: 12 });
    fc.assert(
      fc.property(soup, (text) => {
        expect(isAccepted(text)).toBe(isAcceptedByModel(text));
      }),
      { numRuns: runs(5000) },
    );
  });

  test('judges numbers, and what looks like them, as JSON.parse does', () => {
    const parts = fc.constantFrom('0', '0', '1', '9', '-', '+', '.', 'e', 'E');
    fc.assert(
      fc.property(fc.string({ unit: parts, minLength: 1, maxLength: 6 }), (text) => {
        for (const whole of [text, `[${text}]`, `{"a":${text}}`])
          expect(isAccepted(whole)).toBe(isAcceptedByModel(whole));
      }),
      { numRuns: runs(3000) },
    );
  });

  test('reads the text of a string as JSON.parse does', () => {
    fc.assert(
      fc.property(anyString, (text) => {
        const bytes = Buffer.from(text);
        expect(textOf(bytes, 0, bytes.length)).toBe(JSON.parse(text));
      }),
      { numRuns: runs(500) },
    );
  });
});

interface Member {
  readonly name: string;
  /** Raw JSON. */
  readonly value: string;
}

/** An object whose members stand in any order, in any spelling and with any white space between. */
function objectOf(members: readonly Member[], gap: fc.Arbitrary<string> = space): fc.Arbitrary<string> {
  const written = members.map(({ name, value }) =>
    fc
      .tuple(gap, spelling(name), gap, gap, gap)
      .map(([a, key, b, c, d]) => `${a}${key}${b}:${c}${value}${d}`),
  );
  return fc
    .tuple(...written)
    .chain((parts) => fc.shuffledSubarray(parts, { minLength: parts.length }))
    .map((parts) => `{${parts.join(',')}}`);
}

const strange = (forbidden: readonly string[]) =>
  fc.dictionary(
    anyText.filter((name) => !forbidden.some((other) => other.toLowerCase() === name.toLowerCase())),
    json,
    { maxKeys: 3 },
  );
const membersOf = (record: Record<string, string>): Member[] =>
  Object.entries(record).map(([name, value]) => ({ name, value }));

const rawId = fc.oneof(anyNumber, anyString).filter((id) => Buffer.byteLength(id) <= 1024);
const watched = ['name', 'uri', 'cursor', 'requestId', 'progressToken', 'ref', 'level', '_meta'];
const topLevel = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];

interface Expected {
  readonly id: string;
  readonly method: string;
  readonly name: string;
  readonly token: string;
  readonly text: string;
}

const request: fc.Arbitrary<Expected> = fc
  .record({
    id: rawId,
    method: anyText,
    name: anyText.chain((text) => spelling(text)),
    token: rawId,
    others: strange(topLevel),
    inParams: strange(watched),
    inMeta: strange(['progressToken']),
  })
  .chain(({ id, method, name, token, others, inParams, inMeta }) =>
    objectOf([...membersOf(inMeta), { name: 'progressToken', value: token }])
      .chain((meta) =>
        objectOf([...membersOf(inParams), { name: 'name', value: name }, { name: '_meta', value: meta }]),
      )
      .chain((params) =>
        spelling(method).chain((spelled) =>
          objectOf([
            ...membersOf(others),
            { name: 'jsonrpc', value: '"2.0"' },
            { name: 'id', value: id },
            { name: 'method', value: spelled },
            { name: 'params', value: params },
          ]),
        ),
      )
      .map((text) => ({ id, method, name, token, text })),
  );

const oneLine = (text: string) => text.replace(/[\r\n]/g, ' ');
const at = (envelope: Envelope, span: Span | undefined) =>
  span === undefined ? undefined : envelope.bytes.toString('utf8', span.start, span.end);

describe('the envelope of a request', () => {
  test('finds every member it watches, at exactly its bytes, in any spelling, order and spacing', () => {
    fc.assert(
      fc.property(request, ({ id, method, name, token, text }) => {
        const envelope = readClientMessage(Buffer.from(text));
        expect(envelope.kind).toBe('request');
        expect(envelope.method).toBe(method);
        expect(at(envelope, envelope.id)).toBe(id);
        expect(envelope.rawId).toBe(Buffer.from(id).toString('latin1'));
        expect(at(envelope, envelope.param('name'))).toBe(name);
        expect(envelope.paramText('name')).toBe(JSON.parse(name));
        expect(at(envelope, envelope.askedToken)).toBe(token);
        const model = JSON.parse(text);
        expect(envelope.parse(envelope.params)).toEqual(model.params);
        // E1: on one line, and otherwise as it came.
        expect(envelope.bytes.toString()).toBe(oneLine(text));
        expect(JSON.parse(envelope.bytes.toString())).toEqual(model);
      }),
      { numRuns: runs(300) },
    );
  });

  test('is spliced in the named places only, and back again, byte for byte', () => {
    fc.assert(
      fc.property(request, rawId, anyString, rawId, ({ text }, id, name, token) => {
        const envelope = readClientMessage(Buffer.from(text));
        const { bytes } = envelope;
        const spans = [envelope.id, envelope.param('name'), envelope.askedToken] as [Span, Span, Span];
        const texts = [id, name, token].map((raw) => Buffer.from(raw).toString('latin1'));
        const edits = spans
          .map((span, index) => ({ ...span, text: texts[index] ?? '' }))
          .sort((a, b) => a.start - b.start);
        const out = whole(applyEdits(bytes, edits));
        // The model: cut the text at the spans, from the back.
        let model = bytes.toString('latin1');
        for (const edit of [...edits].reverse())
          model = model.slice(0, edit.start) + edit.text + model.slice(edit.end);
        expect(out.toString('latin1')).toBe(model);
        const read = readClientMessage(Buffer.from(out));
        expect(
          [read.id, read.param('name'), read.askedToken].map((span) => span && rawOf(read.bytes, span)),
        ).toEqual(texts);
        const undone = [read.id, read.param('name'), read.askedToken].map((span, index) => ({
          ...(span as Span),
          text: rawOf(bytes, spans[index] as Span),
        }));
        expect(
          whole(
            applyEdits(
              read.bytes,
              undone.sort((a, b) => a.start - b.start),
            ),
          ).equals(bytes),
        ).toBe(true);
      }),
      { numRuns: runs(300) },
    );
  });

  test('refuses a routing member that occurs twice, in whatever spelling (E2)', () => {
    const twice = fc.oneof(
      fc.constantFrom('jsonrpc', 'id', 'method', 'params').map((name) => ({ where: 'top', name })),
      fc.constantFrom(...watched).map((name) => ({ where: 'params', name })),
      fc.constant({ where: 'meta', name: 'progressToken' }),
    );
    const values: Record<string, string> = {
      jsonrpc: '"2.0"',
      id: '1',
      method: '"m"',
      params: '{}',
      _meta: '{}',
    };
    fc.assert(
      fc.property(
        twice.chain(({ where, name }) => {
          const two = [1, 2].map(() => ({ name, value: values[name] ?? '"x"' }));
          const inside = (here: string) => (where === here ? two : []);
          return objectOf(inside('meta'))
            .chain((meta) => {
              const own = where === 'params' && name === '_meta' ? [] : [{ name: '_meta', value: meta }];
              return objectOf([...own, ...inside('params')]);
            })
            .chain((params) => {
              const once = Object.entries({ ...values, params })
                .filter(([member]) => member !== '_meta' && !(where === 'top' && member === name))
                .map(([member, value]) => ({ name: member, value }));
              return objectOf([...once, ...inside('top')]);
            });
        }),
        (text) => {
          expect(() => JSON.parse(text)).not.toThrow();
          expect(() => readClientMessage(Buffer.from(text))).toThrow(RpcFault);
        },
      ),
      { numRuns: runs(300) },
    );
  });

  test('never throws anything but RpcFault, and reads what it accepts as JSON.parse does', () => {
    const soup = fc.oneof(
      json,
      fc
        .tuple(json, json)
        .map(([id, params]) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":${params}}`),
      fc.tuple(json, json).map(([id, result]) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`),
      fc.uint8Array({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(soup, fc.boolean(), (text, isClient) => {
        const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text);
        let envelope: Envelope;
        try {
          envelope = isClient ? readClientMessage(bytes) : readServerMessage(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RpcFault);
          const { code } = error as RpcFault;
          if (typeof text === 'string') expect(code).toBe(isAcceptedByModel(text) ? -32600 : -32700);
          return;
        }
        const model = JSON.parse(bytes.toString());
        expect(['string', 'number', 'undefined']).toContain(
          model.id === null ? 'undefined' : typeof model.id,
        );
        expect(envelope.parse(envelope.params)).toEqual(model.params);
        expect(envelope.parse(envelope.result)).toEqual(model.result);
        expect(envelope.method).toBe(model.method ?? '');
      }),
      { numRuns: runs(2000) },
    );
  });
});

test('raw JSON goes through Latin-1 and back unharmed', () => {
  fc.assert(
    fc.property(anyText, bareSpace, (text, gap) => {
      const message = Buffer.from(`${gap}"old"`);
      const out = whole(
        applyEdits(message, [{ start: gap.length, end: message.length, text: rawJson(text) }]),
      );
      expect(JSON.parse(out.toString())).toBe(text);
    }),
  );
});

test('nesting is accepted to the documented depth and no further', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.integer({ min: 1, max: 3 * MAX_DEPTH }), (isArray, levels) => {
      const text = isArray
        ? '['.repeat(levels) + ']'.repeat(levels)
        : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
      expect(isAccepted(text)).toBe(levels <= MAX_DEPTH + 1);
    }),
  );
});

test('a text is found in a message wherever that is cut', () => {
  const few = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 30 });
  fc.assert(
    fc.property(
      few,
      fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }),
      fc.array(fc.nat()),
      (text, word, cuts) => {
        const bytes = Buffer.from(text);
        const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
          (a, b) => a - b,
        );
        const pieces = borders.map((border, at) => bytes.subarray(borders[at - 1] ?? 0, border));
        expect(holds(pieces, word)).toBe(text.includes(word));
        expect(holds(bytes, word)).toBe(text.includes(word));
      },
    ),
    { numRuns: runs(1000) },
  );
});
