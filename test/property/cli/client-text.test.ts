// Whatever stands in a client's file, as long as a client could read it: our entry goes in and out without a trace.

import fc from 'fast-check';
import { createScanner, parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import type { ClientEntries } from '../../../config/clients/client-entry.ts';
import { entryIn, withEntry, withoutEntry } from '../../../src/cli/connect/client-text.ts';

const place = { root: 'mcpServers', name: 'actor-gateway' };

/** How a file is written: what stands between its tokens, drawn piece by piece. */
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

function written(
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

const file = fc.tuple(content, style).map(([top, how]) => written(top, how));

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

/** What a client would read. */
function read(text: string): Record<string, unknown> {
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

/** Whether the one comes from the other by putting something in, at however many places. */
function isPartOf(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of part) {
    at = whole.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

describe("a client's file", () => {
  test('has our entry and nothing else that differs once it is put in (FE1)', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        const after = withEntry(before, place, made);
        const was = read(before);
        expect(read(after)).toEqual({
          ...was,
          mcpServers: { ...(was.mcpServers as object | undefined), 'actor-gateway': made.entry },
        });
        expect(Object.keys(read(after)).filter((name) => name !== 'mcpServers')).toEqual(
          Object.keys(was).filter((name) => name !== 'mcpServers'),
        );
        if (entryIn(before, place) !== undefined) return;
        expect(isPartOf(before, after)).toBe(true);
        expect(comments(after)).toEqual(comments(before));
      }),
    );
  });

  test('is byte for byte what it was once the entry is taken out again (FE2)', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        expect(withoutEntry(withEntry(before, place, made), place, before)).toBe(before);
      }),
    );
  });

  test('keeps what others have put in meanwhile when the entry is taken out (FE2)', () => {
    fc.assert(
      fc.property(file, entries, entries, (before, made, other) => {
        const theirs = { root: 'mcpServers', name: 'put-in-meanwhile' };
        const both = withEntry(withEntry(before, place, made), theirs, other);
        const after = withoutEntry(both, place, before) ?? '';
        const was = read(before);
        expect(read(after)).toEqual({
          ...was,
          mcpServers: { ...(was.mcpServers as object | undefined), 'put-in-meanwhile': other.entry },
        });
        expect(entryIn(after, place)).toEqual(entryIn(before, place));
      }),
    );
  });

  test('loses the entry alone when nobody knows what was there before (FE2)', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        const after = withEntry(before, place, made);
        const rest = withoutEntry(after, place, undefined);
        const { 'actor-gateway': _ours, ...others } = (read(before).mcpServers ?? {}) as Record<
          string,
          unknown
        >;
        if (rest === undefined) return;
        expect(read(rest)).toEqual({ ...read(before), mcpServers: others });
      }),
      // What follows a comment to the end of a line must not be drawn into it.
      {
        examples: [
          ['{"mcpServers":{// a\n"actor-gateway":{},"x":1}}', { entry: { url: 'http://a.aa' }, inputs: [] }],
          ['{"mcpServers":{"x":1,// a\n"actor-gateway":{}}}', { entry: { url: 'http://a.aa' }, inputs: [] }],
        ],
      },
    );
  });

  test('asks for the value that the entry refers to, and no longer once the entry is gone (FE1, FE2)', () => {
    const input = { type: 'promptString', id: 'key', description: 'The key', password: true } as const;
    const made: ClientEntries = { entry: { url: `http://a.aa/\${input:key}` }, inputs: [input] };
    const others = fc.array(fc.record({ id: fc.constantFrom('a', 'b') }, { noNullPrototype: true }), {
      maxLength: 2,
    });
    const asking = fc
      .tuple(content, fc.option(others, { nil: undefined }), style)
      .map(([top, inputs, how]) => written(inputs === undefined ? top : { ...top, inputs }, how));
    fc.assert(
      fc.property(asking, entries, (before, other) => {
        const after = withEntry(before, place, made);
        const was = (read(before).inputs ?? []) as unknown[];
        expect(read(after).inputs).toEqual([...was, input]);
        expect(comments(after).length).toBeGreaterThanOrEqual(
          entryIn(before, place) === undefined ? comments(before).length : 0,
        );
        expect(withoutEntry(after, place, before)).toBe(before);
        const theirs = { root: 'mcpServers', name: 'put-in-meanwhile' };
        const rest = withoutEntry(withEntry(after, theirs, other), place, before) ?? '';
        expect(read(rest).inputs ?? []).toEqual(was);
      }),
    );
  });

  test('does not change when the same entry is put in twice (FE3)', () => {
    fc.assert(
      fc.property(file, entries, (before, made) => {
        const once = withEntry(before, place, made);
        expect(withEntry(once, place, made)).toBe(once);
      }),
    );
  });
});
