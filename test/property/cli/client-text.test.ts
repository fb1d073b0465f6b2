// Edits of the configuration files of MCP clients (client-text.ts), with random content, comments and
// formatting. The entry of the gateway is added and removed. All other text stays byte for byte.

import fc from 'fast-check';
import { createScanner, parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import type { ClientEntries } from '../../../config/clients/client-entry.ts';
import { entryIn, withEntry, withoutEntry } from '../../../src/cli/connect/client-text.ts';

/** Position of the gateway's entry in the file. */
const location = { root: 'mcpServers', name: 'actor-gateway' };

/** File formatting: the text between the tokens. */
interface Style {
  readonly lineEnd: string;
  readonly indentUnit: string;
  readonly hasTrailingCommas: boolean;
  /** True if the file is one line, apart from the fillers. */
  readonly isCompact: boolean;
  /** White space and comments, which are inserted between the tokens in turn. */
  readonly fillers: readonly string[];
  readonly hasByteOrderMark: boolean;
}

const arbStyle: fc.Arbitrary<Style> = fc.record({
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  indentUnit: fc.constantFrom('  ', '    ', '\t', ''),
  hasTrailingCommas: fc.boolean(),
  isCompact: fc.boolean(),
  fillers: fc.array(fc.constantFrom('', ' ', '/* a, { */', '// "b": 1, }', '\n', ' /**/ '), { minLength: 1 }),
  hasByteOrderMark: fc.boolean(),
});

/** Names that need care: known keys and a longer key with the same beginning, a member of Object, a quote. */
const arbKey = fc.oneof(
  fc.string({ maxLength: 5 }),
  fc.constantFrom('mcpServers', 'inputs2', 'actor-gateway', '__proto__', 'a"b', 'theme'),
);
const arbLeaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
const arbValue = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    arbLeaf,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.uniqueArray(fc.tuple(arbKey, tie('any')), { maxLength: 3, selector: ([name]) => name }).map(objectOf),
  ),
})).any;

/** Returns an object with these members. Also `__proto__` is an ordinary member. */
function objectOf(pairs: readonly (readonly [string, unknown])[]): object {
  const object: object = {};
  for (const [name, each] of pairs)
    Object.defineProperty(object, name, {
      value: each,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return object;
}

const arbServers = fc
  .uniqueArray(fc.tuple(fc.constantFrom('actor-gateway', 'other', 'x', '__proto__'), arbValue), {
    selector: ([name]) => name,
    maxLength: 3,
  })
  .map(objectOf);
const arbMembers = fc
  .uniqueArray(fc.tuple(arbKey, arbValue), { maxLength: 4, selector: ([name]) => name })
  .map((pairs) => pairs.filter(([name]) => name !== 'mcpServers'));
const arbContent = fc
  .tuple(arbMembers, fc.option(arbServers, { nil: undefined }), fc.nat(4))
  .map(([pairs, servers, at]) =>
    objectOf(servers === undefined ? pairs : pairs.toSpliced(at, 0, ['mcpServers', servers])),
  );

/** Writes a value in a style. */
function textOf(
  top: unknown,
  { lineEnd, indentUnit, hasTrailingCommas, isCompact, fillers, hasByteOrderMark }: Style,
): string {
  let count = 0;
  const filler = (): string => {
    const next = fillers[count++ % fillers.length] as string;
    if (next.startsWith('//')) return `${next}${lineEnd}`;
    return next === '\n' ? lineEnd : next;
  };
  const write = (each: unknown, indent: string): string => {
    if (typeof each !== 'object' || each === null) return JSON.stringify(each);
    const isList = Array.isArray(each);
    const innerIndent = indent + indentUnit;
    const inner = isCompact ? '' : `${lineEnd}${innerIndent}`;
    const writeMember = (name: string): string => {
      const start = `${JSON.stringify(name)}${filler()}:${filler()}`;
      return start + write((each as Record<string, unknown>)[name], innerIndent);
    };
    const parts = isList ? each.map((item) => write(item, innerIndent)) : Object.keys(each).map(writeMember);
    const body = parts.map((part) => `${filler()}${inner}${part}${filler()}`).join(',');
    const comma = hasTrailingCommas && parts.length > 0 ? ',' : '';
    const close = isCompact || parts.length === 0 ? '' : `${lineEnd}${indent}`;
    return `${isList ? '[' : '{'}${body}${comma}${filler()}${close}${isList ? ']' : '}'}`;
  };
  return `${hasByteOrderMark ? '\uFEFF' : ''}${filler()}${write(top, '')}${filler()}`;
}

const arbFile = fc.tuple(arbContent, arbStyle).map(([top, style]) => textOf(top, style));

const arbEntries: fc.Arbitrary<ClientEntries> = fc.record({
  entry: fc.oneof(
    fc.record({ url: fc.webUrl() }),
    fc.record({
      type: fc.constant('http'),
      url: fc.webUrl(),
      headers: fc.constant({ 'X-API-Key': `\${input:gateway-api-key}` }),
    }),
    fc.record({ command: fc.string(), args: fc.array(fc.string(), { maxLength: 3 }) }),
  ),
  inputs: fc.constant([]),
});

/** Returns the content as read by clients. */
function parseClientText(text: string): Record<string, unknown> {
  const errors: [] = [];
  const found = parse(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true });
  expect(errors).toEqual([]);
  return JSON.parse(JSON.stringify(found));
}

function commentsIn(text: string): string[] {
  const scanner = createScanner(text);
  const found: string[] = [];
  for (;;) {
    scanner.scan();
    const token = text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength());
    if (token === '') return found;
    if (token.startsWith('/')) found.push(token);
  }
}

/** Returns true if `whole` contains the characters of `part` in the same order. */
function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of part) {
    at = whole.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

describe('the configuration file of an MCP client', () => {
  test('differs only by the entry of the gateway after it is added', () => {
    fc.assert(
      fc.property(arbFile, arbEntries, (before, added) => {
        const after = withEntry(before, location, added);
        const original = parseClientText(before);
        expect(parseClientText(after)).toEqual({
          ...original,
          mcpServers: { ...(original.mcpServers as object | undefined), 'actor-gateway': added.entry },
        });
        expect(Object.keys(parseClientText(after)).filter((name) => name !== 'mcpServers')).toEqual(
          Object.keys(original).filter((name) => name !== 'mcpServers'),
        );
        // An earlier entry with the name of the gateway is replaced. Otherwise text is only inserted.
        if (entryIn(before, location) !== undefined) return;
        expect(isSubsequence(before, after)).toBe(true);
        expect(commentsIn(after)).toEqual(commentsIn(before));
      }),
    );
  });

  test('equals the original byte for byte after the entry is removed', () => {
    fc.assert(
      fc.property(arbFile, arbEntries, (before, added) => {
        expect(withoutEntry(withEntry(before, location, added), location, before)).toBe(before);
      }),
    );
  });

  test('keeps later additions of other programs when the entry is removed', () => {
    fc.assert(
      fc.property(arbFile, arbEntries, arbEntries, (before, added, other) => {
        const otherEntry = { root: 'mcpServers', name: 'put-in-meanwhile' };
        const both = withEntry(withEntry(before, location, added), otherEntry, other);
        const after = withoutEntry(both, location, before) ?? '';
        const original = parseClientText(before);
        expect(parseClientText(after)).toEqual({
          ...original,
          mcpServers: { ...(original.mcpServers as object | undefined), 'put-in-meanwhile': other.entry },
        });
        expect(entryIn(after, location)).toEqual(entryIn(before, location));
      }),
    );
  });

  test('loses only the entry if the original text is unknown', () => {
    fc.assert(
      fc.property(arbFile, arbEntries, (before, added) => {
        const after = withEntry(before, location, added);
        const rest = withoutEntry(after, location, undefined);
        const { 'actor-gateway': _ours, ...others } = (parseClientText(before).mcpServers ?? {}) as Record<
          string,
          unknown
        >;
        // Undefined: the file contained only the entry, so it can be deleted.
        if (rest === undefined) return;
        expect(parseClientText(rest)).toEqual({ ...parseClientText(before), mcpServers: others });
      }),
      // Text under a line comment must not become part of the comment.
      {
        examples: [
          ['{"mcpServers":{// a\n"actor-gateway":{},"x":1}}', { entry: { url: 'http://a.aa' }, inputs: [] }],
          ['{"mcpServers":{"x":1,// a\n"actor-gateway":{}}}', { entry: { url: 'http://a.aa' }, inputs: [] }],
        ],
      },
    );
  });

  test('gets the input definition that the gateway entry refers to, and loses the definition with the entry', () => {
    const input = { type: 'promptString', id: 'key', description: 'The key', password: true } as const;
    const added: ClientEntries = { entry: { url: `http://a.aa/\${input:key}` }, inputs: [input] };
    const others = fc.array(fc.record({ id: fc.constantFrom('a', 'b') }, { noNullPrototype: true }), {
      maxLength: 2,
    });
    const arbFileWithInputs = fc
      .tuple(arbContent, fc.option(others, { nil: undefined }), arbStyle)
      .map(([top, inputs, style]) => textOf(inputs === undefined ? top : { ...top, inputs }, style));
    fc.assert(
      fc.property(arbFileWithInputs, arbEntries, (before, other) => {
        const after = withEntry(before, location, added);
        const original = (parseClientText(before).inputs ?? []) as unknown[];
        expect(parseClientText(after).inputs).toEqual([...original, input]);
        // Only comments within a replaced entry are lost.
        if (entryIn(before, location) === undefined)
          expect(commentsIn(after).length).toBeGreaterThanOrEqual(commentsIn(before).length);
        expect(withoutEntry(after, location, before)).toBe(before);
        const otherEntry = { root: 'mcpServers', name: 'put-in-meanwhile' };
        const rest = withoutEntry(withEntry(after, otherEntry, other), location, before) ?? '';
        expect(parseClientText(rest).inputs ?? []).toEqual(original);
      }),
    );
  });

  test('does not change if the same entry is added twice', () => {
    fc.assert(
      fc.property(arbFile, arbEntries, (before, added) => {
        const once = withEntry(before, location, added);
        expect(withEntry(once, location, added)).toBe(once);
      }),
    );
  });
});
