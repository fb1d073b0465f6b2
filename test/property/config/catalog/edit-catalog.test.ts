// Catalog edits in random realistic files: comments, empty lines, quotes, anchors, indentations, line
// endings, JSON, and flow mappings in YAML.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkCatalog } from '../../../../config/catalog/check-catalog.ts';
import { type CatalogEdit, editCatalog, serverNames } from '../../../../config/catalog/edit-catalog.ts';
import { readCatalog } from '../../../../config/catalog/read-catalog.ts';
import { SchemaReader } from '../../../../config/reader/schema-reader.ts';
import { SecretValues } from '../../../../config/reader/secret-values.ts';
import { SourceFile } from '../../../../config/reader/source-file.ts';
import { parseYamlTree } from '../../../../config/reader/yaml-tree.ts';
import { runs } from '../../../fixtures/property-runs.ts';

/** A file in pieces. Text above a server is separate from the server. */
interface FilePieces {
  readonly head: string;
  readonly servers: readonly { readonly id: string; readonly above: string; readonly text: string }[];
  readonly foot: string;
}

const textOf = ({ head, servers, foot }: FilePieces) =>
  head + servers.map(({ above, text }) => above + text).join('') + foot;

function load(text: string) {
  const source = new SourceFile('/folder/catalog.yaml', text);
  const secrets = new SecretValues();
  const reader = new SchemaReader(source, {}, secrets);
  reader.unsetVariables = 'warning';
  const { root, problems } = parseYamlTree(source);
  const catalog = root && readCatalog(reader, root, source.path);
  const errors = [...problems, ...reader.problems].filter(({ severity }) => severity === 'error');
  return { servers: { ...catalog?.servers }, errors: errors.map(({ message }) => message) };
}

const ids = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9._-]{0,6}$/), { minLength: 1, maxLength: 4 });
const comment = fc.constantFrom('', ' # mine', ' # a: {b: "c', '  #');
const commentsAbove = (indent: string) =>
  fc.array(fc.constantFrom('', `${indent}# about it`, '# left', `${indent}#   old: {`), { maxLength: 3 });

/** The lines below the name of a server. */
const fields = (indent: string, step: string) => {
  const inner = indent + step;
  const lines = fc.constantFrom(
    [`${inner}args: [a, "b # c", 'd: e']`],
    [`${inner}args:`, `${inner}- a`, `${inner}  # in it`, `${inner}- "b"`],
    [`${inner}env: # of it`, `${inner}${step}A: "1"`, '', `${inner}${step}B: plain text`],
    [`${inner}env: { A: x, "B": 'y' } # one line`],
    [`${inner}env:`, `${inner}${step}KEY: |`, `${inner}${step}  one`, '', `${inner}${step}  two`],
    [`${inner}tags: &tags${indent.length} [x]`],
    [`${inner}# only a comment`],
    ['# at the left'],
    [`${inner}cwd: 'it''s'`],
  );
  const distinct = fc.uniqueArray(lines, {
    maxLength: 3,
    selector: (each) => each[0]?.trim().split(':')[0],
  });
  return fc.tuple(comment, distinct, fc.boolean()).map(([end, some, isCommented]) => [
    `${inner}command: node${end}`,
    ...some.flat(),
    // A comment at the left margin after the last field belongs to no field.
    ...(some.some(([first]) => first === '# at the left') ? [`${inner}tools: {}`] : []),
    ...(isCommented ? [`${inner}# env: {}`] : []),
  ]);
};

const blockFile: fc.Arbitrary<FilePieces> = fc
  .record({
    ids,
    indent: fc.constantFrom('  ', '    ', ' '),
    step: fc.constantFrom('  ', '    '),
    eol: fc.constantFrom('\n', '\r\n'),
    hasEnd: fc.boolean(),
    head: fc.constantFrom('', '# of ours\n\n', '---\n# yaml\n'),
    key: fc.constantFrom('servers:', 'servers: # all of them', '"servers":', 'servers: &all'),
    foot: fc.constantFrom('', '\n', '# the end\n', '\n\n# the end\n'),
  })
  .chain((file) =>
    fc
      .tuple(
        ...file.ids.map((id) =>
          fc.record({
            above: commentsAbove(file.indent),
            name: fc.constantFrom(`${id}:`, `"${id}":`, `'${id}': # named`),
            lines: fields(file.indent, file.step),
            isFlow: fc.boolean(),
          }),
        ),
      )
      .map((entries): FilePieces => {
        const withEnds = (lines: readonly string[]) => lines.map((line) => line + file.eol).join('');
        const servers = entries.map(({ above: before, name, lines, isFlow }, at) => ({
          id: file.ids[at] ?? '',
          above: withEnds(before),
          text: isFlow
            ? withEnds([`${file.indent}${name.replace(/ #.*/, '')} { command: node, args: [ "a" ] } # flow`])
            : withEnds([`${file.indent}${name}`, ...lines]),
        }));
        const head = file.head.replaceAll('\n', file.eol) + file.key + file.eol;
        const foot = file.foot.replaceAll('\n', file.eol);
        if (file.hasEnd || foot !== '') return { head, servers, foot };
        const last = servers.at(-1);
        const cut = { ...last, text: last?.text.trimEnd() ?? '' } as (typeof servers)[number];
        return { head, servers: [...servers.slice(0, -1), cut], foot };
      }),
  );

const flowFile: fc.Arbitrary<FilePieces> = fc
  .record({
    ids,
    key: fc.constantFrom('servers', 'mcpServers'),
    unit: fc.constantFrom('  ', '    ', '\t', ''),
    kind: fc.constantFrom('json', 'yaml'),
    hasComma: fc.boolean(),
  })
  .map(({ ids: names, key, unit, kind, hasComma }): FilePieces => {
    const isYaml = kind === 'yaml' && unit.startsWith(' ');
    const gap = unit === '' ? '' : `\n${unit}${isYaml ? '' : unit}`;
    const servers = names.map((id, at) => {
      const isLast = at === names.length - 1;
      const comma = isLast && !(isYaml && hasComma) ? '' : ',';
      const note = isYaml && at % 2 === 0 ? ' # about it' : '';
      const entry = JSON.stringify({ command: 'node', args: ['a', id] }, undefined, unit).replaceAll(
        '\n',
        gap || '\n',
      );
      return { id, above: gap, text: `"${id}": ${entry}${comma}${note}` };
    });
    const end = unit === '' ? '' : '\n';
    return isYaml
      ? { head: `# mine\n${key}: {`, servers, foot: `\n${unit}} # all\n` }
      : { head: `{${end}${unit}"${key}": {`, servers, foot: `${end}${unit}}${end}}${end}` };
  });

const file = fc.oneof(blockFile, flowFile);
const run = { numRuns: runs(150) };

const edited = (text: string, edit: CatalogEdit): string => {
  const after = editCatalog(text, edit);
  if (typeof after !== 'string') throw new Error(`${after.refusal}\n${text}`);
  return after;
};

const withoutServer = (servers: object, id: string) =>
  Object.fromEntries(Object.entries(servers).filter(([name]) => name !== id));

/** Returns true if `longer` contains all characters of `text` in order. */
function hasAllOf(longer: string, text: string): boolean {
  let at = 0;
  for (const character of longer) if (character === text[at]) at += 1;
  return at === text.length;
}

describe('an edit of a catalog', () => {
  test('starts from valid files, which the test generates', () => {
    fc.assert(
      fc.property(file, (original) => {
        const { servers, errors } = load(textOf(original));
        expect(errors).toEqual([]);
        expect(Object.keys(servers)).toEqual(original.servers.map(({ id }) => id));
      }),
      run,
    );
  });

  test('that adds a server changes nothing else, and removing the server restores the file', () => {
    const entry = fc.record(
      {
        command: fc.constantFrom('npx', './tool: x', '1', '-y'),
        args: fc.array(
          fc.constantFrom('-y', '@a/b@1.2', 'a b', '{', '#', ['$', '{X}'].join(''), '', 'x'.repeat(90)),
        ),
        env: fc.dictionary(fc.constantFrom('A', 'B'), fc.constantFrom('1', 'true', ' x', 'a\nb', '')),
        tags: fc.constant(['t']),
      },
      { requiredKeys: ['command'] },
    );
    fc.assert(
      fc.property(file, entry, (original, entryText) => {
        const text = textOf(original);
        const json = JSON.parse(JSON.stringify(entryText));
        const after = edited(text, { do: 'add', name: 'new', entry: json });
        expect(hasAllOf(after, text)).toBe(true);
        for (const { above: before, text: lines } of original.servers)
          expect(after).toContain(before.trimEnd() === '' ? lines.replace(/,? *(#.*)?$/, '') : before);
        const { servers, errors } = load(after);
        expect(errors).toEqual([]);
        expect(withoutServer(servers, 'new')).toEqual(load(text).servers);
        expect(Object.keys(servers).at(-1)).toBe('new');
        expect(edited(after, { do: 'remove', name: 'new' })).toBe(text);
      }),
      run,
    );
  });

  test('that removes a server removes only the lines of the server', () => {
    fc.assert(
      fc.property(file, fc.nat(), (original, index) => {
        const text = textOf(original);
        const target = original.servers[index % original.servers.length] as FilePieces['servers'][number];
        const after = edited(text, { do: 'remove', name: target.id });
        const { servers, errors } = load(after);
        expect(errors).toEqual([]);
        expect(servers).toEqual(withoutServer(load(text).servers, target.id));
        // All other text except whitespace keeps the order.
        const solid = (each: string) => each.replace(/[\s,]/g, '');
        const rest = original.servers.map(
          (each) => each.above + (each === target ? noteOf(each.text) : each.text),
        );
        const remaining = solid(original.head + rest.join('') + original.foot);
        expect(solid(after).replace(/(servers"?:(&all)?)\{\}/, '$1')).toBe(
          remaining.replace(/(servers"?:(&all)?)\{\}/, '$1'),
        );
        for (const each of original.servers)
          if (each !== target)
            expect(after).toContain(
              each.text
                .replace(/,?$/, '')
                .trimEnd()
                .replace(/, # about it$/, ''),
            );
      }),
      run,
    );
  });

  test('that disables or enables a server changes nothing else', () => {
    fc.assert(
      fc.property(file, fc.nat(), (original, index) => {
        const text = textOf(original);
        const { id, text: lines } = original.servers[
          index % original.servers.length
        ] as FilePieces['servers'][number];
        const off = edited(text, { do: 'switch', name: id, isEnabled: false });
        const before = load(text).servers;
        expect(load(off)).toEqual({
          servers: { ...before, [id]: { ...before[id], enabled: false } },
          errors: [],
        });
        expect(hasAllOf(off, text)).toBe(true);
        expect(off.replace(/[ \t]*"?enabled"?: false,?\s*/, '').replace(/\s/g, '')).toBe(
          text.replace(/\s/g, ''),
        );
        const on = edited(off, { do: 'switch', name: id, isEnabled: true });
        expect(on).toBe(off.replace(/("?enabled"?): false/, '$1: true'));
        expect(edited(on, { do: 'switch', name: id, isEnabled: true })).toBe(on);
        expect(load(on)).toEqual(load(text));
        expect(lines).not.toBe('');
      }),
      run,
    );
  });

  test('that replaces a server keeps the position of the server', () => {
    fc.assert(
      fc.property(file, fc.nat(), (original, index) => {
        const text = textOf(original);
        const { id } = original.servers[index % original.servers.length] as FilePieces['servers'][number];
        expect(editCatalog(text, { do: 'add', name: id, entry: { command: 'x' } })).toEqual({
          refusal: `it already has a server ${id}`,
        });
        const after = edited(text, { do: 'add', name: id, entry: { command: 'x' }, isReplacing: true });
        const { servers, errors } = load(after);
        expect(errors).toEqual([]);
        expect(servers[id]).toMatchObject({ command: 'x', args: [] });
        expect(Object.keys(servers)).toEqual(original.servers.map((each) => each.id));
      }),
      run,
    );
  });
});

/** A comment behind the last server in a flow mapping stays. */
const noteOf = (text: string) => (text.endsWith(' # about it') ? ' # about it' : '');

describe("an edit of a client's file", () => {
  const remark = (indent: string) =>
    fc.constantFrom('', `${indent}// about "it": {\n`, `${indent}/* one\n${indent}   two } */\n`, '\n');
  const behind = fc.constantFrom('', ' // mine', ' /* mine */');
  const clientFile = fc.record({
    ids: ids.filter((each) => each.length > 1),
    place: fc.constantFrom(
      ['/h/.config/zed/settings.json', 'context_servers'] as const,
      ['/h/project/.vscode/mcp.json', 'servers'] as const,
      ['/h/.cursor/mcp.json', 'mcpServers'] as const,
      ['/h/x/cline_mcp_settings.json', 'mcpServers'] as const,
      ['/h/.gemini/settings.json', 'mcpServers'] as const,
      ['/h/.codeium/windsurf/mcp_config.json', 'mcpServers'] as const,
    ),
    head: fc.constantFrom('', '// settings\n', '/* of\nmine */\n'),
    before: remark('    '),
    end: behind,
    inner: behind,
    hasComma: fc.boolean(),
    eol: fc.constantFrom('\n', '\r\n'),
  });
  type ClientFile = typeof clientFile extends fc.Arbitrary<infer T> ? T : never;
  const original = ({ ids: names, place: [, key], head, before, end, inner, hasComma, eol }: ClientFile) => {
    const servers = names.map((id, at) => {
      const comma = at < names.length - 1 || hasComma ? ',' : '';
      return `${before}    "${id}": {${inner}\n      "command": "${id}", // it's\n    }${comma}${end}\n`;
    });
    const text = `${head}{\n  "theme": "dark", // not light\n  "${key}": {\n${servers.join('')}    // the last\n  },\n}\n`;
    return text.replaceAll('\n', eol);
  };
  const comments = (text: string) => text.match(/(?<!:)\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g) ?? [];
  const valueAt = (text: string, path: string) => {
    const { catalog, problems } = checkCatalog(new SourceFile(path, text), {});
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    return { ...catalog.servers };
  };

  test('keeps the comments, and the gateway reads the intended result', () => {
    fc.assert(
      fc.property(clientFile, fc.nat(), fc.boolean(), (file, index, isRemote) => {
        const [path] = file.place;
        const text = original(file);
        const servers = valueAt(text, path);
        expect(serverNames(text, path)).toEqual(file.ids);
        const apply = (entryText: string, edit: CatalogEdit) => {
          const after = editCatalog(entryText, edit, path);
          if (typeof after !== 'string') throw new Error(`${after.refusal}\n${entryText}`);
          return after;
        };
        const entry = isRemote
          ? { url: 'https://a.test/mcp', headers: { Authorization: ['Bearer $', '{T}'].join('') } }
          : { command: 'new', args: ['a'], env: { T: ['$', '{T}'].join('') } };
        const more = apply(text, { do: 'add', name: 'new', entry });
        expect(comments(more)).toEqual(comments(text));
        const all = valueAt(more, path);
        expect(withoutServer(all, 'new')).toEqual(servers);
        expect(all.new).toMatchObject(isRemote ? { runtime: 'http', url: entry.url } : { command: 'new' });
        expect(apply(more, { do: 'remove', name: 'new' })).toBe(text);

        const id = file.ids[index % file.ids.length] as string;
        const off = apply(text, { do: 'switch', name: id, isEnabled: false });
        expect(comments(off)).toEqual(comments(text));
        expect(valueAt(off, path)).toEqual({ ...servers, [id]: { ...servers[id], enabled: false } });
        const isDisabling = /cline|windsurf/.test(path);
        expect(off).toContain(isDisabling ? '"disabled": true' : '"enabled": false');
        expect(valueAt(apply(off, { do: 'switch', name: id, isEnabled: true }), path)).toEqual(servers);

        const less = apply(text, { do: 'remove', name: id });
        expect(valueAt(less, path)).toEqual(withoutServer(servers, id));
        const own = comments(`${file.inner}\n// it's`).length;
        expect(comments(less)).toHaveLength(comments(text).length - own);
      }),
      run,
    );
  });

  test("uses the client's format", () => {
    const added = (path: string, text: string, entry: Record<string, unknown>) => {
      const after = editCatalog(text, { do: 'add', name: 'n', entry }, path);
      return Object.values(JSON.parse(after as string) as Record<string, { n: object }>)[0]?.n;
    };
    const remote = { url: 'https://a.test/mcp', headers: { A: ['$', '{T}'].join('') } };
    const old = { url: 'https://a.test/sse', runtime: 'sse' };
    const inEnv = { A: ['$', '{env:T}'].join('') };
    const vsCode = '/p/.vscode/mcp.json';
    expect(added(vsCode, '{"servers":{}}', remote)).toEqual({ ...remote, type: 'http', headers: inEnv });
    expect(added(vsCode, '{"servers":{}}', { command: 'x' })).toEqual({ type: 'stdio', command: 'x' });
    const empty = '{"mcpServers":{}}';
    expect(added('/h/mcp_config.json', empty, remote)).toEqual({ serverUrl: remote.url, headers: inEnv });
    expect(added('/h/.gemini/settings.json', empty, remote)).toEqual({
      httpUrl: remote.url,
      headers: remote.headers,
    });
    expect(added('/h/.gemini/settings.json', empty, old)).toEqual({ url: old.url });
    expect(added('/h/cline_mcp_settings.json', empty, remote)).toEqual({ ...remote, type: 'streamableHttp' });
    expect(added('/h/other.json', empty, old)).toEqual({ type: 'sse', url: old.url });
    expect(added('/h/catalog.json', '{"servers":{}}', old)).toEqual(old);
  });

  test('is refused if it would remove a comment of another entry', () => {
    const text = '{"mcpServers": {/* of a */ "a": {"command": "x"}, "b": {"command": "y"}}}';
    expect(editCatalog(text, { do: 'remove', name: 'a' }, '/c.json')).toBe(
      '{"mcpServers": {/* of a */ "b": {"command": "y"}}}',
    );
    const last = '{"mcpServers": {"a": {"command": "x"}, /* of b */ "b": {"command": "y"}}}';
    expect(editCatalog(last, { do: 'remove', name: 'b' }, '/c.json')).toMatchObject({
      refusal: expect.stringContaining('edit it by hand'),
    });
  });
});
