// Edits of client files, with random readable content: the entry of the gateway is added and removed without
// traces.

import fc from 'fast-check';
import { createScanner, parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import type { ClientEntries } from '../../../config/clients/client-entry.ts';
import { entryIn, withEntry, withoutEntry } from '../../../src/cli/connect/client-text.ts';

const location = { root: 'mcpServers', name: 'actor-gateway' };

/** File formatting: the text between the tokens, which is drawn piece by piece. */
interface Style {
  readonly lineEnd: string;
  readonly unit: string;
  readonly hasTrailingCommas: boolean;
  readonly isCompact: boolean;
  readonly fillers: readonly string[];
  readonly hasMark: boolean;
}

const style: fc.Arbitrary<Style> = fc.record({
  lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
  unit: fc.constantFrom('  ', '    ', '\t', ''),
  hasTrailingCommas: fc.boolean(),
  isCompact: fc.boolean(),
  fillers: fc.array(fc.constantFrom('', ' ', '/* a, { */', '// "b": 1, }', '\n', ' /**/ '), { minLength: 1 }),
  hasMark: fc.boolean(),
});

const key = fc.oneof(
  fc.string({ maxLength: 5 }),
  fc.constantFrom('mcpServers', 'inputs2', 'actor-gateway', '__proto__', 'a"b', 'theme'),
);
const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.uniqueArray(fc.tuple(key, tie('any')), { maxLength: 3, selector: ([name]) => name }).map(objectOf),
  ),
})).any;

function objectOf(pairs: readonly (readonly [string, unknown])[]): object {
  const made: object = {};
  for (const [name, each] of pairs)
    Object.defineProperty(made, name, { value: each, enumerable: true, configurable: true, writable: true });
  return made;
}

const servers = fc
  .uniqueArray(fc.tuple(fc.constantFrom('actor-gateway', 'other', 'x', '__proto__'), value), {
    selector: ([name]) => name,
    maxLength: 3,
  })
  .map(objectOf);
const members = fc
  .uniqueArray(fc.tuple(key, value), { maxLength: 4, selector: ([name]) => name })
  .map((pairs) => pairs.filter(([name]) => name !== 'mcpServers'));
const content = fc
  .tuple(members, fc.option(servers, { nil: undefined }), fc.nat(4))
  .map(([pairs, found, at]) =>
    objectOf(found === undefined ? pairs : pairs.toSpliced(at, 0, ['mcpServers', found])),
  );

function textOf(
  top: unknown,
  { lineEnd, unit, hasTrailingCommas, isCompact, fillers, hasMark }: Style,
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
    const inner = isCompact ? '' : `${lineEnd}${indent}${unit}`;
    const parts = isList
      ? each.map((item) => write(item, indent + unit))
      : Object.keys(each).map(
          (name) =>
            `${JSON.stringify(name)}${filler()}:${filler()}${write((each as Record<string, unknown>)[name], indent + unit)}`,
        );
    const body = parts.map((part) => `${filler()}${inner}${part}${filler()}`).join(',');
    const comma = hasTrailingCommas && parts.length > 0 ? ',' : '';
    const close = isCompact || parts.length === 0 ? '' : `${lineEnd}${indent}`;
    return `${isList ? '[' : '{'}${body}${comma}${filler()}${close}${isList ? ']' : '}'}`;
  };
  return `${hasMark ? '\uFEFF' : ''}${filler()}${write(top, '')}${filler()}`;
}

const file = fc.tuple(content, style).map(([top, how]) => textOf(top, how));

const entries: fc.Arbitrary<ClientEntries> = fc.record({
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

/** The content that a client would read. */
function parsedText(text: string): Record<string, unknown> {
  const errors: [] = [];
  const found = parse(text.replace(/^\uFEFF/, ''), errors, { allowTrailingComma: true });
  expect(errors).toEqual([]);
  return JSON.parse(JSON.stringify(found));
}

function comments(text: string): string[] {
  const scanner = createScanner(text);
  const found: string[] = [];
  for (;;) {
    scanner.scan();
    const token = text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength());
    if (token === '') return found;
    if (token.startsWith('/')) found.push(token);
  }
}

/** Returns true if `whole` results from insertions into `part`. */
function isPartOf(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of part) {
    at = whole.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

describe("a client's file", () => {
  test('differs only by the entry of the gateway after it is added', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        const after = withEntry(before, location, made);
        const was = parsedText(before);
        expect(parsedText(after)).toEqual({
          ...was,
          mcpServers: { ...(was.mcpServers as object | undefined), 'actor-gateway': made.entry },
        });
        expect(Object.keys(parsedText(after)).filter((name) => name !== 'mcpServers')).toEqual(
          Object.keys(was).filter((name) => name !== 'mcpServers'),
        );
        if (entryIn(before, location) !== undefined) return;
        expect(isPartOf(before, after)).toBe(true);
        expect(comments(after)).toEqual(comments(before));
      }),
    );
  });

  test('equals the original byte for byte after the entry is removed', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        expect(withoutEntry(withEntry(before, location, made), location, before)).toBe(before);
      }),
    );
  });

  test('keeps later additions of other programs when the entry is removed', () => {
    fc.assert(
      fc.property(file, entries, entries, (before, made, other) => {
        const otherEntry = { root: 'mcpServers', name: 'put-in-meanwhile' };
        const both = withEntry(withEntry(before, location, made), otherEntry, other);
        const after = withoutEntry(both, location, before) ?? '';
        const was = parsedText(before);
        expect(parsedText(after)).toEqual({
          ...was,
          mcpServers: { ...(was.mcpServers as object | undefined), 'put-in-meanwhile': other.entry },
        });
        expect(entryIn(after, location)).toEqual(entryIn(before, location));
      }),
    );
  });

  test('loses only the entry if the original text is unknown', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        const after = withEntry(before, location, made);
        const rest = withoutEntry(after, location, undefined);
        const { 'actor-gateway': _ours, ...others } = (parsedText(before).mcpServers ?? {}) as Record<
          string,
          unknown
        >;
        if (rest === undefined) return;
        expect(parsedText(rest)).toEqual({ ...parsedText(before), mcpServers: others });
      }),
      // Text below a line comment must not become part of the comment.
      {
        examples: [
          ['{"mcpServers":{// a\n"actor-gateway":{},"x":1}}', { entry: { url: 'http://a.aa' }, inputs: [] }],
          ['{"mcpServers":{"x":1,// a\n"actor-gateway":{}}}', { entry: { url: 'http://a.aa' }, inputs: [] }],
        ],
      },
    );
  });

  test('gets an input for the value of the gateway entry, and loses the input with the entry', () => {
    const input = { type: 'promptString', id: 'key', description: 'The key', password: true } as const;
    const made: ClientEntries = { entry: { url: `http://a.aa/\${input:key}` }, inputs: [input] };
    const others = fc.array(fc.record({ id: fc.constantFrom('a', 'b') }, { noNullPrototype: true }), {
      maxLength: 2,
    });
    const asking = fc
      .tuple(content, fc.option(others, { nil: undefined }), style)
      .map(([top, inputs, how]) => textOf(inputs === undefined ? top : { ...top, inputs }, how));
    fc.assert(
      fc.property(asking, entries, (before, other) => {
        const after = withEntry(before, location, made);
        const was = (parsedText(before).inputs ?? []) as unknown[];
        expect(parsedText(after).inputs).toEqual([...was, input]);
        expect(comments(after).length).toBeGreaterThanOrEqual(
          entryIn(before, location) === undefined ? comments(before).length : 0,
        );
        expect(withoutEntry(after, location, before)).toBe(before);
        const otherEntry = { root: 'mcpServers', name: 'put-in-meanwhile' };
        const rest = withoutEntry(withEntry(after, otherEntry, other), location, before) ?? '';
        expect(parsedText(rest).inputs ?? []).toEqual(was);
      }),
    );
  });

  test('does not change if the same entry is added twice', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        const once = withEntry(before, location, made);
        expect(withEntry(once, location, made)).toBe(once);
      }),
    );
  });
});
