// Edits of JSON members, and conversions of messages between the legacy and the modern MCP version (up to
// 2025-11-25, and 2026-07-28). The model is a list of members as written: keys with any escapes, values in
// any form, random white space, and duplicate keys. Unchanged members keep every byte.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import type { Envelope } from '../../../../../actors/mcp/jsonrpc/envelope.ts';
import {
  type Changes,
  changeMembers,
  memberOf,
  membersOf,
} from '../../../../../actors/mcp/jsonrpc/members.ts';
import {
  legacyEdits,
  metaKeys,
  modernMeta,
  toModern,
} from '../../../../../actors/mcp/jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { ResultChange } from '../../../../../actors/mcp/jsonrpc/result-change.ts';
import { rawJson, rawOf, toBuffer } from '../../../../../actors/mcp/jsonrpc/span.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

interface Member {
  readonly key: string;
  /** With quotes, as written. */
  readonly rawKey: string;
  /** White space around the key and the value. */
  readonly gap: string;
  /** Raw JSON. */
  readonly value: string;
}

const space = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 2 });

const value: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '1.0',
    '-0',
    '1E400',
    '9007199254740993',
    '123456789012345678901234567890',
    'null',
    'true',
    '{}',
    '{ }',
    '[]',
    '"_meta"',
    '"\\u005fmeta"',
    '"}{,"',
    '"\\\\"',
    '{"a":1,"a":2}',
    '{"_meta":{"a":1}}',
    '[{"_meta":{}}, 1.50 ]',
  ),
  fc.json(),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
);

/** Returns notations of the key in JSON, with some characters as escapes. */
function encodings(key: string): fc.Arbitrary<string> {
  const units = [...Array(key.length).keys()].map((index) => key.charAt(index));
  const plain = fc.constant(JSON.stringify(key));
  const escaped = fc
    .array(fc.boolean(), { minLength: units.length, maxLength: units.length })
    .map((isEscaped) => {
      const text = units.map((unit, index) =>
        isEscaped[index] === true || /[\ud800-\udfff]/.test(unit)
          ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
          : JSON.stringify(unit).slice(1, -1),
      );
      return `"${text.join('')}"`;
    });
  return fc.oneof(plain, escaped);
}

function membersFrom(keys: fc.Arbitrary<string>): fc.Arbitrary<Member[]> {
  const member = keys.chain((key) =>
    fc.record({ key: fc.constant(key), rawKey: encodings(key), gap: space, value }),
  );
  return fc.array(member, { maxLength: 6 });
}

const anyKey = fc.oneof(
  fc.constantFrom('a', 'b', 'ä', '名', '😀', '', '__proto__', 'constructor', '\n', '"', '\\'),
  fc.string({ maxLength: 4 }),
);

/** Returns the raw JSON object with these members. */
function objectOf(members: readonly Member[]): string {
  const parts = members.map(({ rawKey, gap, value: raw }) => `${gap}${rawKey}${gap}:${raw}${gap}`);
  return `{${parts.join(',')}}`;
}

/** Returns a text with a character per UTF-8 byte, the form in which edits contain raw JSON. */
const latin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

/** Returns the keys of the object with their raw values. */
function entriesOf(bytes: Buffer, start = 0): [key: string, raw: string][] {
  return membersOf(bytes, { start, end: bytes.length }).map(({ key, value: span }) => [
    key,
    rawOf(bytes, span),
  ]);
}

/** Returns the expected result of `entriesOf` for these members. */
const modelOf = (members: readonly Member[]): [string, string][] =>
  members.map(({ key, value: raw }) => [key, latin1(raw)]);

/** Model of `changeMembers`: the new members, then the unchanged ones. */
function changedModel(members: readonly Member[], changes: Changes): [string, string][] {
  const added = Object.entries(changes).flatMap(([key, raw]): [string, string][] =>
    raw === undefined ? [] : [[key, raw]],
  );
  return [...added, ...modelOf(members.filter(({ key }) => !Object.hasOwn(changes, key)))];
}

// Only for checks of validity. Other checks compare raw text, because JSON.parse changes `1.0` and large
// integers.
const parsed = (text: string) => JSON.parse(text) as unknown;

describe('the members of an object', () => {
  test('are read as written, in order, with any escape sequences in the keys', () => {
    fc.assert(
      fc.property(membersFrom(anyKey), (members) => {
        const bytes = Buffer.from(objectOf(members));
        expect(entriesOf(bytes)).toEqual(modelOf(members));
        for (const { key } of members)
          expect(memberOf(bytes, { start: 0, end: bytes.length }, key)).toEqual(
            membersOf(bytes, { start: 0, end: bytes.length }).find((member) => member.key === key)?.value,
          );
      }),
      { numRuns: runs(500) },
    );
  });

  test('are added, replaced and removed by edits, and the others keep every byte', () => {
    const anyChanges = fc.dictionary(
      fc.constantFrom('a', 'b', 'c', 'new', 'constructor'),
      fc.option(fc.constantFrom('1', '"x"', '{"y":[1.0]}', 'null'), { nil: undefined }),
    );
    /** Message text around the object. */
    const around = fc.constantFrom(
      ['', ''],
      ['[1, ', ' ,2]'],
      ['{"a":', '}'],
      ['{"ä":2,"b":', ' , "c":{"a":1}}'],
    );
    fc.assert(
      fc.property(membersFrom(anyKey), anyChanges, around, (members, changes, [head = '', tail = '']) => {
        const text = objectOf(members);
        const bytes = Buffer.from(head + text + tail);
        const start = Buffer.byteLength(head);
        const span = { start, end: start + Buffer.byteLength(text) };
        const edited = toBuffer(applyEdits(bytes, changeMembers(bytes, span, changes))).toString();
        expect(edited.startsWith(head)).toBe(true);
        expect(edited.endsWith(tail)).toBe(true);
        expect(() => parsed(edited)).not.toThrow();
        const inside = edited.slice(head.length, edited.length - tail.length);
        expect(entriesOf(Buffer.from(inside))).toEqual(changedModel(members, changes));
        // Byte for byte, with the original notation of the key.
        for (const { key, rawKey, gap, value: raw } of members)
          if (!Object.hasOwn(changes, key)) expect(inside).toContain(`${rawKey}${gap}:${raw}`);
      }),
      { numRuns: runs(2000) },
    );
  });

  test('are an empty list for a JSON value that is not an object', () => {
    for (const text of ['[{"a":1}]', '"{}"', '1', 'null']) {
      const bytes = Buffer.from(text);
      expect(membersOf(bytes, { start: 0, end: bytes.length })).toEqual([]);
    }
    expect(membersOf(Buffer.from('{}'), undefined)).toEqual([]);
  });
});

const caller = {
  clientInfo: { name: 'Zoë 😀', version: '1' },
  capabilities: { elicitation: {} },
  logLevel: 'info',
};
/** Keys and raw values that a modern request of the caller has in `_meta`. */
const callerMeta = Object.entries(modernMeta(caller)).map(([key, json]): [string, string] => [
  key,
  rawJson(json),
]);

const toLegacy = (envelope: Envelope) =>
  readServerMessage(toBuffer(applyEdits(envelope.bytes, legacyEdits(envelope))));

/** Removes duplicate keys, which the envelope rejects. */
const unique = (members: readonly Member[]) =>
  members.filter(({ key }, index) => members.findIndex((other) => other.key === key) === index);

const anyKeyExcept = (excluded: readonly string[]) => anyKey.filter((key) => !excluded.includes(key));
/** Keys that the conversions or the envelope treat specially. */
const reserved = ['_meta', 'inputResponses', 'requestState', 'name', 'uri', 'cursor', 'requestId'];

interface RequestCase {
  /** Undefined if the request has no params. */
  readonly params: readonly Member[] | undefined;
  readonly meta: readonly Member[] | undefined;
  /** The whole request. */
  readonly text: string;
}

const anyRequest: fc.Arbitrary<RequestCase> = fc
  .record({
    params: fc.option(membersFrom(anyKeyExcept([...reserved, 'progressToken', 'ref', 'level'])), {
      nil: undefined,
    }),
    meta: fc.option(membersFrom(anyKeyExcept(['progressToken'])), { nil: undefined }),
    metaIndex: fc.nat({ max: 6 }),
    metaKey: encodings('_meta'),
    gap: space,
    isParamsFirst: fc.boolean(),
  })
  .map(({ params, meta, metaIndex, metaKey, gap, isParamsFirst }) => {
    const paramMembers = params === undefined ? undefined : unique(params);
    const metaMembers = meta === undefined || paramMembers === undefined ? undefined : unique(meta);
    const parts = paramMembers?.map((param) => `${param.gap}${param.rawKey}${param.gap}:${param.value}`);
    if (parts !== undefined && metaMembers !== undefined)
      parts.splice(metaIndex, 0, `${gap}${metaKey}${gap}:${gap}${objectOf(metaMembers)}`);
    const rest = `"jsonrpc":"2.0",${gap}"id":9007199254740993,"method":"x/y"`;
    const all = [rest];
    if (parts !== undefined)
      all.splice(isParamsFirst ? 0 : 1, 0, `${gap}"params":${gap}{${parts.join(`${gap},`)}${gap}}`);
    return { params: paramMembers, meta: metaMembers, text: `${gap}{${all.join(',')}${gap}}` };
  });

const modernKeys = new Set(callerMeta.map(([key]) => key));

describe('converting an MCP request to the modern version', () => {
  test("adds the caller's metadata as first members, and keeps everything else", () => {
    fc.assert(
      fc.property(anyRequest, ({ params, meta, text }) => {
        const before = readServerMessage(Buffer.from(text));
        const after = toModern(before, caller);
        expect(() => parsed(after.bytes.toString())).not.toThrow();
        expect([after.rawId, after.method]).toEqual([before.rawId, before.method]);
        const paramsSpan = after.params;
        if (paramsSpan === undefined) throw new Error('there are no params');
        const others = entriesOf(after.bytes, paramsSpan.start).filter(([key]) => key !== '_meta');
        expect(others).toEqual(modelOf(params ?? []));
        const metaSpan = memberOf(after.bytes, paramsSpan, '_meta');
        if (metaSpan === undefined) throw new Error('there is no _meta');
        const remainingMembers = modelOf(meta ?? []).filter(([key]) => !modernKeys.has(key));
        expect(entriesOf(after.bytes, metaSpan.start)).toEqual([...callerMeta, ...remainingMembers]);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('and back restores the request, except for an empty _meta', () => {
    fc.assert(
      fc.property(anyRequest, ({ params, meta, text }) => {
        const back = toLegacy(
          toModern(readServerMessage(Buffer.from(text)), caller, {
            requestState: '"s"',
            inputResponses: '{}',
          }),
        );
        const paramsSpan = back.params;
        if (paramsSpan === undefined) throw new Error('there are no params');
        const entries = entriesOf(back.bytes, paramsSpan.start);
        expect(entries.filter(([key]) => key !== '_meta')).toEqual(modelOf(params ?? []));
        const metaSpan = memberOf(back.bytes, paramsSpan, '_meta');
        const metaEntries = metaSpan === undefined ? [] : entriesOf(back.bytes, metaSpan.start);
        expect(metaEntries).toEqual(modelOf(meta ?? []).filter(([key]) => !modernKeys.has(key)));
        expect(() => parsed(back.bytes.toString())).not.toThrow();
      }),
      { numRuns: runs(1000) },
    );
  });

  test('and back removes all members of the modern version', () => {
    const more = { requestState: '"s"', inputResponses: '{"a":[1]}' };
    fc.assert(
      fc.property(anyRequest, ({ text }) => {
        const back = toLegacy(toModern(readServerMessage(Buffer.from(text)), caller, more));
        const whole = parsed(back.bytes.toString()) as { params: Record<string, unknown> };
        const meta = (whole.params._meta ?? {}) as Record<string, unknown>;
        for (const key of modernKeys) expect(Object.hasOwn(meta, key)).toBe(false);
        for (const key of Object.keys(more)) expect(Object.hasOwn(whole.params, key)).toBe(false);
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('a rewritten MCP result', () => {
  test('gets additional members and _meta members, and keeps everything else', () => {
    const results = fc.record({
      members: membersFrom(anyKeyExcept(['_meta', 'resultType'])).map(unique),
      meta: fc.option(membersFrom(anyKey).map(unique), { nil: undefined }),
      isMetaFirst: fc.boolean(),
      gap: space,
      hasType: fc.boolean(),
    });
    fc.assert(
      fc.property(results, ({ members, meta, isMetaFirst, gap, hasType }) => {
        const parts = members.map(({ rawKey, value: raw }) => `${gap}${rawKey}${gap}:${gap}${raw}`);
        if (hasType) parts.splice(1, 0, '"resultType":"other"');
        if (meta !== undefined)
          parts.splice(isMetaFirst ? 0 : parts.length, 0, `"_meta":${gap}${objectOf(meta)}`);
        const bytes = Buffer.from(`{"id":1,"result":${gap}{${parts.join(`${gap},${gap}`)}${gap}},"x":1}`);
        const change = new ResultChange(
          { resultType: '"complete"', ttlMs: '0' },
          { [metaKeys.serverInfo]: '{"name":"s"}', a: undefined },
        );
        const edits = change.edits(readServerMessage(bytes));
        const after = readServerMessage(toBuffer(applyEdits(bytes, edits)));
        const message = parsed(after.bytes.toString()) as { result: { _meta: Record<string, unknown> } };
        const start = after.result?.start ?? -1;
        const others = entriesOf(after.bytes, start).filter(([key]) => key !== '_meta');
        expect(others).toEqual([['resultType', '"complete"'], ['ttlMs', '0'], ...modelOf(members)]);
        const remainingMeta = modelOf(meta ?? []).filter(
          ([key]) => key !== 'a' && key !== metaKeys.serverInfo,
        );
        const metaSpan = memberOf(after.bytes, after.result, '_meta');
        expect(entriesOf(after.bytes, metaSpan?.start)).toEqual([
          [metaKeys.serverInfo, '{"name":"s"}'],
          ...remainingMeta,
        ]);
        expect(message.result._meta[metaKeys.serverInfo]).toEqual({ name: 's' });
      }),
      { numRuns: runs(1000) },
    );
  });

  test.each([
    '{"id":1,"error":{"code":1,"message":"no"}}',
    '{"id":1,"result":[1]}',
    '{"id":1,"result":null}',
  ])('that is missing or not an object stays unchanged: %s', (text) => {
    const answer = readServerMessage(Buffer.from(text));
    expect(new ResultChange({ a: '1' }, { b: '2' }).edits(answer)).toEqual([]);
  });
});
