// Names of tools in merged lists (`server__tool`, or with a digest), tool filters, and resource templates.

import { beforeAll, describe, expect, test } from 'vitest';
import { loadToolFilters, toolFilter } from '../../../../../../actors/mcp/clients/aggregate/tool-filter.ts';
import { MAX_NAME_LENGTH, MergedNames } from '../../../../../../actors/mcp/clients/aggregate/tool-names.ts';
import { matchesTemplate } from '../../../../../../actors/mcp/clients/aggregate/uri-template.ts';

const nameOf = (server: string, tool: string, ids: readonly string[] = [server]) =>
  new MergedNames(ids).namesOf(server, [tool]).get(tool);

describe('the merged name of a tool', () => {
  test('consists of the server id and the tool name if both fit', () => {
    expect(nameOf('files', 'read_text-file')).toBe('files__read_text-file');
    const longest = 'x'.repeat(MAX_NAME_LENGTH - 's__'.length);
    expect(nameOf('s', longest)).toBe(`s__${longest}`);
  });

  test('is shortened with a stable digest if it is too long', () => {
    // Fixed values: clients store these names, so they must not change between versions.
    expect(nameOf('my.server', 'a/b')).toBe('my_server__a_b_59040ebb');
    expect(nameOf('s', 'x'.repeat(62))).toHaveLength(MAX_NAME_LENGTH);
    expect(nameOf('s', `${'x'.repeat(70)}1`)).not.toBe(nameOf('s', `${'x'.repeat(70)}2`));
  });

  test('never equals the digest name of another tool', () => {
    const victim = nameOf('a.b', 'read file', ['a.b', 'a_b']) ?? '';
    expect(victim).toMatch(/^a_b__read_file_[0-9a-f]{32}$/);
    const chosen = victim.slice('a_b__'.length);
    expect(nameOf('a_b', chosen, ['a.b', 'a_b'])).not.toBe(victim);
    expect(new MergedNames(['a.b', 'a_b']).readPlain(victim)).toBeUndefined();
  });

  test('has no digest if the tool name only resembles a digest name or ends with a date', () => {
    const digestName = nameOf('s', 'read file') ?? '';
    const plain = digestName.slice('s__'.length);
    const names = new MergedNames(['s']).namesOf('s', ['read file', plain]);
    expect(names.get(plain)).toBe(digestName);
    expect(names.get('read file')).toMatch(/^s__read_file_[0-9a-f]{32}$/);
    expect(nameOf('files', 'export_20260101')).toBe('files__export_20260101');
  });

  test.each([
    [['a.b', 'a_b'], true],
    [['a', 'a__b'], true],
    [['a', 'a_'], true],
    [['é'.repeat(60), 'ü'.repeat(60)], true],
    [['a', 'b'], false],
    [['a', 'ab'], false],
  ])('has a long digest if the ids %j have an ambiguous prefix: %s', (ids, isLong) => {
    for (const id of ids) expect(nameOf(id, 'x y', ids)).toMatch(isLong ? /_[0-9a-f]{32}$/ : /_[0-9a-f]{8}$/);
  });

  test('has a long digest if the short digests of two tools of one server are equal', () => {
    // The first 70 characters and the first 32 bits of the digest are equal (found by search).
    const [one, other] = [`${'x'.repeat(70)}103899`, `${'x'.repeat(70)}116731`];
    for (const tool of [one, other]) expect(nameOf('s', tool)).toMatch(/_63485e50$/);
    const names = new MergedNames(['s']).namesOf('s', [one, other]);
    expect(new Set(names.values()).size).toBe(2);
    for (const name of names.values()) expect(name).toMatch(/_[0-9a-f]{32}$/);
  });
});

describe('a tool filter', () => {
  beforeAll(() => loadToolFilters([{ allow: ['read_*'], deny: [] }]));
  const filter = (allow: string[], deny: string[] = []) => toolFilter({ allow, deny });

  test('that allows `*` accepts every name', () => {
    for (const name of ['read', '.hidden', 'a/b', 'a/.b', '', '!x', 'ü', 'a\nb'])
      expect(filter(['*'])(name)).toBe(true);
  });

  test.each([
    ['read_*', 'read_file', true],
    ['read_*', 'write_file', false],
    ['*_file', 'read_file', true],
    ['*', 'a/b', true],
    ['*/b', 'a/b', true],
    ['{read,write}', 'write', true],
    ['rea?', 'read', true],
    ['[rw]*', 'write', true],
    ['read', 'READ', false],
    ['read', 'read2', false],
    ['!read', 'write', false],
    ['!read', '!read', true],
    ['[!rw]*', 'write', false],
    ['v[0-9]', 'v7', true],
    ['{get,set}_{a,b*}', 'set_bcd', true],
    ['{get,set}_{a,b*}', 'set_cd', false],
    ['{read,}', '', true],
    ['{read', '{read', true],
    ['a,b', 'a,b', true],
    ['{a}', '{a}', true],
    ['[a', '[a', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['?', '😀', true],
  ])('that allows %s matches %s: %s', (pattern, name, isAllowed) => {
    expect(filter([pattern])(name)).toBe(isAllowed);
    expect(filter(['*'], [pattern])(name)).toBe(!isAllowed);
  });

  test('denies a name in both lists, and every name if nothing is allowed', () => {
    expect(filter(['read_*'], ['*_secret'])('read_secret')).toBe(false);
    expect(filter([])('read')).toBe(false);
  });

  test('denies names above the maximum length, unless it allows everything', () => {
    expect(filter(['a*'])('a'.repeat(256))).toBe(true);
    expect(filter(['a*'])('a'.repeat(257))).toBe(false);
    expect(filter(['*'], ['b*'])('a'.repeat(257))).toBe(false);
    expect(filter(['*'])('a'.repeat(257))).toBe(true);
  });

  test('matches hostile patterns and names in linear time', () => {
    const hostile = [
      `${'*a'.repeat(100)}b`,
      '{a,aa,*}'.repeat(30),
      `${'{a,aa}'.repeat(100)}b`,
      `{${'*a'.repeat(50)},${'?'.repeat(50)}*}x`,
      `*${'[a-c]'.repeat(100)}d`,
      `${'{a*,'.repeat(100)}b${'}'.repeat(100)}c`,
    ];
    const startedAt = performance.now();
    for (const pattern of hostile)
      for (const length of [30, 64, 128, 256]) filter(['*'], [pattern])('a'.repeat(length));
    // Matching the first pattern with a regular expression would not finish.
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test('that denies `*` denies every name', () => {
    for (const name of ['read', '.hidden', 'a/b', '!x', 'a\nb'])
      expect(filter(['*'], ['*'])(name)).toBe(false);
  });
});

describe('a resource template', () => {
  test.each([
    ['file:///{path}', 'file:///a/b', true],
    ['file:///{path}', 'file:///', true],
    ['file:///{path}', 'http:///a', false],
    ['db://{table}/rows/{id}', 'db://t/rows/1', true],
    ['db://{table}/rows/{id}', 'db://t/cols/1', false],
    ['x://{a}.txt', 'x://b.txt', true],
    ['x://{a}.txt', 'x://b.txt.gz', false],
    ['x://{a}b{c}b', 'x://b', false],
    ['x://{a}b{c}b', 'x://bb', true],
    ['plain://x', 'plain://x', true],
    ['plain://x', 'plain://xy', false],
    ['{+all}', 'anything', true],
    ['a{b', 'a{b', true],
    ['a{b', 'axb', false],
  ])('%s matches %s: %s', (template, uri, isMatch) => {
    expect(matchesTemplate(template, uri)).toBe(isMatch);
  });

  test('matches a hostile template in linear time', () => {
    const size = 100_000;
    const hostile: [string, string][] = [
      ['{'.repeat(size), 'a'.repeat(size)],
      [`${'{a}'.repeat(size)}b`, 'a'.repeat(size)],
      [`${'{a}x'.repeat(size)}`, 'x'.repeat(size - 1)],
      [`{a${'{'.repeat(size)}`, '{'.repeat(size)],
      [`${'{a}aaaaaaaab'.repeat(1000)}`, 'a'.repeat(size)],
    ];
    const startedAt = performance.now();
    for (const [template, uri] of hostile) matchesTemplate(template, uri);
    expect(performance.now() - startedAt).toBeLessThan(2000);
  });
});
