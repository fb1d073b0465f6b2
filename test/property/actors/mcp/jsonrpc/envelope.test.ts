// The JSON scanner and the envelope of a JSON-RPC message (the positions of its parts), compared with
// JSON.parse. Both accept and read the same texts, with random white space, escapes, member order and depth.
// Edits of the envelope change only the edited bytes.

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
import { containsText, rawJson, rawOf, type Span, toBuffer } from '../../../../../actors/mcp/jsonrpc/span.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });
const arbBlank = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 2 });

/** Generates JSON strings for `value`: each character is literal, a short escape or a \u escape. */
function encodings(value: string): fc.Arbitrary<string> {
  return fc.infiniteStream(fc.nat({ max: 3 })).map((forms) => {
    let out = '';
    for (const unit of value.split('')) {
      const isSurrogate = /[\ud800-\udfff]/.test(unit);
      const form = forms.next().value;
      const short = JSON.stringify(unit).slice(1, -1);
      const code = unit.charCodeAt(0).toString(16).padStart(4, '0');
      // A single surrogate has no UTF-8 form, so it must be escaped.
      if (form === 0 || isSurrogate) out += `\\u${code}`;
      else if (form === 1) out += `\\u${code.toUpperCase()}`;
      else if (unit === '/' && form === 2) out += '\\/';
      else out += short;
    }
    return `"${out}"`;
  });
}

const anyText = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), fc.string());
const anyString = anyText.chain(encodings);
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

/** Generates JSON texts with random white space and escapes. */
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
      // An empty array contains a space.
      .map((items) => `[${items.join(',') || ' '}]`),
    fc
      .array(
        fc
          .tuple(space, anyString, space, space, tie('json'), space)
          // `a` to `d` are white space.
          .map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`),
        { maxLength: 4 },
      )
      .map((members) => `{${members.join(',')}}`),
  ),
}));

/** The model: JSON.parse. */
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

/** Lone surrogates cannot be encoded in UTF-8. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

describe('the JSON scanner', () => {
  test('accepts all texts that JSON.parse accepts', () => {
    fc.assert(
      fc.property(space, json, space, (before, text, after) => {
        const whole = before + text + after;
        expect(isAcceptedByModel(whole)).toBe(true);
        expect(isAccepted(whole)).toBe(true);
      }),
      { numRuns: runs(500) },
    );
  });

  test('agrees with JSON.parse on texts with an error', () => {
    /** Inserted text: JSON characters, characters that look like JSON white space or values, or any text. */
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
        // Replaces `length` characters at a random position.
        const start = where % (text.length + 1);
        const broken = text.slice(0, start) + inserted + text.slice(start + length);
        fc.pre(isWellFormed(broken));
        expect(isAccepted(broken)).toBe(isAcceptedByModel(broken));
      }),
      { numRuns: runs(3000) },
    );
  });

  test('agrees with JSON.parse on random JSON characters', () => {
    const randomCharacters = fc.string({
      unit: fc.constantFrom(...'{}[],:"\\u0d12-+.eEtrufalsn \n\t'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(randomCharacters, (text) => {
        expect(isAccepted(text)).toBe(isAcceptedByModel(text));
      }),
      { numRuns: runs(5000) },
    );
  });

  test('agrees with JSON.parse on numbers and similar texts', () => {
    const parts = fc.constantFrom('0', '0', '1', '9', '-', '+', '.', 'e', 'E');
    fc.assert(
      fc.property(fc.string({ unit: parts, minLength: 1, maxLength: 6 }), (text) => {
        for (const whole of [text, `[${text}]`, `{"a":${text}}`])
          expect(isAccepted(whole)).toBe(isAcceptedByModel(whole));
      }),
      { numRuns: runs(3000) },
    );
  });

  test('reads the text of a string like JSON.parse', () => {
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

/**
 * Generates the text of an object with these members, in random order, with random escapes and white space.
 */
function objectOf(members: readonly Member[], gap: fc.Arbitrary<string> = space): fc.Arbitrary<string> {
  const written = members.map(({ name, value }) =>
    fc
      .tuple(gap, encodings(name), gap, gap, gap)
      .map(([a, key, b, c, d]) => `${a}${key}${b}:${c}${value}${d}`),
  );
  return fc
    .tuple(...written)
    .chain((parts) => fc.shuffledSubarray(parts, { minLength: parts.length }))
    .map((parts) => `{${parts.join(',')}}`);
}

/** Generates further members. Their names differ from `forbidden` in more than upper and lower case. */
const otherMembers = (forbidden: readonly string[]) =>
  fc.dictionary(
    anyText.filter((name) => !forbidden.some((other) => other.toLowerCase() === name.toLowerCase())),
    json,
    { maxKeys: 3 },
  );
const membersOf = (record: Record<string, string>): Member[] =>
  Object.entries(record).map(([name, value]) => ({ name, value }));

const rawId = fc.oneof(anyNumber, anyString).filter((id) => Buffer.byteLength(id) <= 1024);
/** Members of `params` that the envelope locates. */
const watched = ['name', 'uri', 'cursor', 'requestId', 'progressToken', 'ref', 'level', '_meta'];
const topLevel = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];

/** A request (`text`), and its parts as raw JSON. `method` is decoded, `token` is the progress token. */
interface ExpectedEnvelope {
  readonly id: string;
  readonly method: string;
  readonly name: string;
  readonly token: string;
  readonly text: string;
}

const request: fc.Arbitrary<ExpectedEnvelope> = fc
  .record({
    id: rawId,
    method: anyText,
    name: anyText.chain((text) => encodings(text)),
    token: rawId,
    others: otherMembers(topLevel),
    inParams: otherMembers(watched),
    inMeta: otherMembers(['progressToken']),
  })
  .chain(({ id, method, name, token, others, inParams, inMeta }) =>
    objectOf([...membersOf(inMeta), { name: 'progressToken', value: token }])
      .chain((meta) =>
        objectOf([...membersOf(inParams), { name: 'name', value: name }, { name: '_meta', value: meta }]),
      )
      .chain((params) =>
        encodings(method).chain((encoded) =>
          objectOf([
            ...membersOf(others),
            { name: 'jsonrpc', value: '"2.0"' },
            { name: 'id', value: id },
            { name: 'method', value: encoded },
            { name: 'params', value: params },
          ]),
        ),
      )
      .map((text) => ({ id, method, name, token, text })),
  );

const oneLine = (text: string) => text.replace(/[\r\n]/g, ' ');
/** Returns the span text. */
const textAt = (envelope: Envelope, span: Span | undefined) =>
  span === undefined ? undefined : envelope.bytes.toString('utf8', span.start, span.end);

describe('the envelope of a request', () => {
  test('finds every watched member at its exact bytes, for any escapes, order and spacing', () => {
    fc.assert(
      fc.property(request, ({ id, method, name, token, text }) => {
        const envelope = readClientMessage(Buffer.from(text));
        expect(envelope.kind).toBe('request');
        expect(envelope.method).toBe(method);
        expect(textAt(envelope, envelope.id)).toBe(id);
        expect(envelope.rawId).toBe(Buffer.from(id).toString('latin1'));
        expect(textAt(envelope, envelope.param('name'))).toBe(name);
        expect(envelope.paramText('name')).toBe(JSON.parse(name));
        expect(textAt(envelope, envelope.progressToken)).toBe(token);
        const model = JSON.parse(text);
        expect(envelope.parse(envelope.params)).toEqual(model.params);
        // The text is on one line, and otherwise as received.
        expect(envelope.bytes.toString()).toBe(oneLine(text));
        expect(JSON.parse(envelope.bytes.toString())).toEqual(model);
      }),
      { numRuns: runs(300) },
    );
  });

  test('is edited only at the given spans, and reverting restores every byte', () => {
    fc.assert(
      fc.property(request, rawId, anyString, rawId, ({ text }, id, name, token) => {
        const envelope = readClientMessage(Buffer.from(text));
        const { bytes } = envelope;
        const spans = [envelope.id, envelope.param('name'), envelope.progressToken] as [Span, Span, Span];
        const texts = [id, name, token].map((raw) => Buffer.from(raw).toString('latin1'));
        const edits = spans
          .map((span, index) => ({ ...span, text: texts[index] ?? '' }))
          .sort((a, b) => a.start - b.start);
        const edited = toBuffer(applyEdits(bytes, edits));
        // The model: cut the text at the spans, from the back.
        let model = bytes.toString('latin1');
        for (const edit of [...edits].reverse())
          model = model.slice(0, edit.start) + edit.text + model.slice(edit.end);
        expect(edited.toString('latin1')).toBe(model);
        const read = readClientMessage(Buffer.from(edited));
        expect(
          [read.id, read.param('name'), read.progressToken].map((span) => span && rawOf(read.bytes, span)),
        ).toEqual(texts);
        const reverseEdits = [read.id, read.param('name'), read.progressToken].map((span, index) => ({
          ...(span as Span),
          text: rawOf(bytes, spans[index] as Span),
        }));
        expect(
          toBuffer(
            applyEdits(
              read.bytes,
              reverseEdits.sort((a, b) => a.start - b.start),
            ),
          ).equals(bytes),
        ).toBe(true);
      }),
      { numRuns: runs(300) },
    );
  });

  test('rejects a duplicate routing member, with any escapes', () => {
    const duplicateMember = fc.oneof(
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
        duplicateMember.chain(({ where, name }) => {
          const pair = [1, 2].map(() => ({ name, value: values[name] ?? '"x"' }));
          const duplicatesIn = (here: string) => (where === here ? pair : []);
          return objectOf(duplicatesIn('meta'))
            .chain((meta) => {
              const own = where === 'params' && name === '_meta' ? [] : [{ name: '_meta', value: meta }];
              return objectOf([...own, ...duplicatesIn('params')]);
            })
            .chain((params) => {
              const once = Object.entries({ ...values, params })
                .filter(([member]) => member !== '_meta' && !(where === 'top' && member === name))
                .map(([member, value]) => ({ name: member, value }));
              return objectOf([...once, ...duplicatesIn('top')]);
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

  test('throws nothing but RpcFault, and reads accepted messages like JSON.parse', () => {
    /** JSON values, messages with random parts, and random bytes. */
    const arbMessage = fc.oneof(
      json,
      fc
        .tuple(json, json)
        .map(([id, params]) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":${params}}`),
      fc.tuple(json, json).map(([id, result]) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`),
      fc.uint8Array({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(arbMessage, fc.boolean(), (text, isClient) => {
        // Both branches are the same call; `Buffer.from` is overloaded per type.
        const bytes = typeof text === 'string' ? Buffer.from(text) : Buffer.from(text);
        let envelope: Envelope;
        try {
          envelope = isClient ? readClientMessage(bytes) : readServerMessage(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RpcFault);
          const { code } = error as RpcFault;
          // An invalid request, or no JSON.
          if (typeof text === 'string') expect(code).toBe(isAcceptedByModel(text) ? -32600 : -32700);
          return;
        }
        const model = JSON.parse(bytes.toString());
        expect(['string', 'number', 'undefined']).toContain(
          model.id === null ? 'undefined' : typeof model.id,
        );
        // Null params are removed.
        expect(envelope.parse(envelope.params)).toEqual(model.params ?? undefined);
        expect(envelope.parse(envelope.result)).toEqual(model.result);
        expect(envelope.method).toBe(model.method ?? '');
      }),
      { numRuns: runs(2000) },
    );
  });
});

test('raw JSON survives the conversion to Latin-1 and back', () => {
  fc.assert(
    fc.property(anyText, arbBlank, (text, gap) => {
      const message = Buffer.from(`${gap}"old"`);
      const out = toBuffer(
        applyEdits(message, [{ start: gap.length, end: message.length, text: rawJson(text) }]),
      );
      expect(JSON.parse(out.toString())).toBe(text);
    }),
  );
});

test('JSON nesting is accepted up to the documented depth', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.integer({ min: 1, max: 3 * MAX_DEPTH }), (isArray, levels) => {
      const text = isArray
        ? '['.repeat(levels) + ']'.repeat(levels)
        : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
      // The outermost value has depth 0.
      expect(isAccepted(text)).toBe(levels <= MAX_DEPTH + 1);
    }),
  );
});

test('a text is found in a message that arrives in pieces, wherever the message is split', () => {
  const arbMessage = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 30 });
  fc.assert(
    fc.property(
      arbMessage,
      fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }),
      fc.array(fc.nat()),
      (text, word, cuts) => {
        const bytes = Buffer.from(text);
        const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
          (a, b) => a - b,
        );
        const pieces = borders.map((border, index) => bytes.subarray(borders[index - 1] ?? 0, border));
        expect(containsText(pieces, word)).toBe(text.includes(word));
        expect(containsText(bytes, word)).toBe(text.includes(word));
      },
    ),
    { numRuns: runs(1000) },
  );
});
