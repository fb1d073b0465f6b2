// Edits of catalogs, the files with the tool servers (edit-catalog.ts): a server is added, removed, replaced,
// enabled or disabled. The random files have comments, empty lines, quotes, anchors and indentations, in YAML
// or JSON. An edit changes only the lines of its server, also in the configuration files of MCP clients.

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

/** A file in pieces. `above` is the text before a server that does not belong to the server. */
interface FilePieces {
  readonly head: string;
  readonly servers: readonly { readonly id: string; readonly above: string; readonly text: string }[];
  readonly foot: string;
}

const textOf = ({ head, servers, foot }: FilePieces) =>
  head + servers.map(({ above, text }) => above + text).join('') + foot;

/** Reads a catalog. Returns its servers and errors. */
function loadCatalog(text: string) {
  const source = new SourceFile('/folder/catalog.yaml', text);
  const secrets = new SecretValues();
  const reader = new SchemaReader(source, {}, secrets);
  reader.unsetVariables = 'warning';
  const { root, problems } = parseYamlTree(source);
  const catalog = root && readCatalog(reader, root, source.path);
  const errors = [...problems, ...reader.problems].filter(({ severity }) => severity === 'error');
  return { servers: { ...catalog?.servers }, errors: errors.map(({ message }) => message) };
}

const arbIds = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9._-]{0,6}$/), { minLength: 1, maxLength: 4 });
const arbComment = fc.constantFrom('', ' # mine', ' # a: {b: "c', '  #');
const commentsAbove = (indent: string) =>
  fc.array(fc.constantFrom('', `${indent}# about it`, '# left', `${indent}#   old: {`), { maxLength: 3 });

/** Generates the lines below a server name. `step` is the further indentation. */
const arbFields = (indent: string, step: string) => {
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
  return fc.tuple(arbComment, distinct, fc.boolean()).map(([trailingComment, groups, hasLastComment]) => [
    `${inner}command: node${trailingComment}`,
    ...groups.flat(),
    // A comment at the left margin must not be the last line: it would not belong to the server.
    ...(groups.some(([first]) => first === '# at the left') ? [`${inner}tools: {}`] : []),
    ...(hasLastComment ? [`${inner}# env: {}`] : []),
  ]);
};

/** A YAML file in block style. Some servers are flow mappings on a single line. */
const arbBlockFile: fc.Arbitrary<FilePieces> = fc
  .record({
    ids: arbIds,
    indent: fc.constantFrom('  ', '    ', ' '),
    step: fc.constantFrom('  ', '    '),
    eol: fc.constantFrom('\n', '\r\n'),
    hasFinalLineEnd: fc.boolean(),
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
            lines: arbFields(file.indent, file.step),
            isFlow: fc.boolean(),
          }),
        ),
      )
      .map((entries): FilePieces => {
        const withLineEnds = (lines: readonly string[]) => lines.map((line) => line + file.eol).join('');
        const servers = entries.map(({ above: before, name, lines, isFlow }, at) => ({
          id: file.ids[at] ?? '',
          above: withLineEnds(before),
          text: isFlow
            ? withLineEnds([
                `${file.indent}${name.replace(/ #.*/, '')} { command: node, args: [ "a" ] } # flow`,
              ])
            : withLineEnds([`${file.indent}${name}`, ...lines]),
        }));
        const head = file.head.replaceAll('\n', file.eol) + file.key + file.eol;
        const foot = file.foot.replaceAll('\n', file.eol);
        if (file.hasFinalLineEnd || foot !== '') return { head, servers, foot };
        const last = servers.at(-1);
        const cut = { ...last, text: last?.text.trimEnd() ?? '' } as (typeof servers)[number];
        return { head, servers: [...servers.slice(0, -1), cut], foot };
      }),
  );

/** A JSON file, or a YAML file whose servers are one flow mapping. */
const arbFlowFile: fc.Arbitrary<FilePieces> = fc
  .record({
    ids: arbIds,
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
      const trailingComment = isYaml && at % 2 === 0 ? ' # about it' : '';
      const entry = JSON.stringify({ command: 'node', args: ['a', id] }, undefined, unit).replaceAll(
        '\n',
        gap || '\n',
      );
      return { id, above: gap, text: `"${id}": ${entry}${comma}${trailingComment}` };
    });
    const end = unit === '' ? '' : '\n';
    return isYaml
      ? { head: `# mine\n${key}: {`, servers, foot: `\n${unit}} # all\n` }
      : { head: `{${end}${unit}"${key}": {`, servers, foot: `${end}${unit}}${end}}${end}` };
  });

const arbFile = fc.oneof(arbBlockFile, arbFlowFile);
const runOptions = { numRuns: runs(150) };

/** Returns the file after an edit. Throws if the edit is refused. */
const applyEdit = (text: string, edit: CatalogEdit): string => {
  const after = editCatalog(text, edit);
  if (typeof after !== 'string') throw new Error(`${after.refusal}\n${text}`);
  return after;
};

const withoutServer = (servers: object, id: string) =>
  Object.fromEntries(Object.entries(servers).filter(([name]) => name !== id));

/** Returns true if `longer` contains the characters of `text` in the same order. */
function isSubsequence(longer: string, text: string): boolean {
  let at = 0;
  for (const character of longer) if (character === text[at]) at += 1;
  return at === text.length;
}

describe('an edit of a catalog', () => {
  test('is tested only with generated files that are valid', () => {
    fc.assert(
      fc.property(arbFile, (original) => {
        const { servers, errors } = loadCatalog(textOf(original));
        expect(errors).toEqual([]);
        expect(Object.keys(servers)).toEqual(original.servers.map(({ id }) => id));
      }),
      runOptions,
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
      fc.property(arbFile, entry, (original, entryText) => {
        const text = textOf(original);
        const json = JSON.parse(JSON.stringify(entryText));
        const after = applyEdit(text, { do: 'add', name: 'new', entry: json });
        expect(isSubsequence(after, text)).toBe(true);
        // The comments above each server stay. Without comments, the server itself stays.
        for (const { above: before, text: lines } of original.servers)
          expect(after).toContain(before.trimEnd() === '' ? lines.replace(/,? *(#.*)?$/, '') : before);
        const { servers, errors } = loadCatalog(after);
        expect(errors).toEqual([]);
        expect(withoutServer(servers, 'new')).toEqual(loadCatalog(text).servers);
        expect(Object.keys(servers).at(-1)).toBe('new');
        expect(applyEdit(after, { do: 'remove', name: 'new' })).toBe(text);
      }),
      runOptions,
    );
  });

  test('that removes a server removes only the lines of the server', () => {
    fc.assert(
      fc.property(arbFile, fc.nat(), (original, index) => {
        const text = textOf(original);
        const target = original.servers[index % original.servers.length] as FilePieces['servers'][number];
        const after = applyEdit(text, { do: 'remove', name: target.id });
        const { servers, errors } = loadCatalog(after);
        expect(errors).toEqual([]);
        expect(servers).toEqual(withoutServer(loadCatalog(text).servers, target.id));
        // All other text stays in order, apart from white space and commas. If no server remains, `{}` may
        // follow the key.
        const compact = (each: string) => each.replace(/[\s,]/g, '').replace(/(servers"?:(&all)?)\{\}/, '$1');
        const rest = original.servers.map(
          (each) => each.above + (each === target ? trailingCommentOf(each.text) : each.text),
        );
        expect(compact(after)).toBe(compact(original.head + rest.join('') + original.foot));
        // The other servers are unchanged, except for their last comma and the comment after it.
        for (const each of original.servers)
          if (each !== target)
            expect(after).toContain(
              each.text
                .replace(/,?$/, '')
                .trimEnd()
                .replace(/, # about it$/, ''),
            );
      }),
      runOptions,
    );
  });

  test('that disables or enables a server changes nothing else', () => {
    fc.assert(
      fc.property(arbFile, fc.nat(), (original, index) => {
        const text = textOf(original);
        const { id, text: lines } = original.servers[
          index % original.servers.length
        ] as FilePieces['servers'][number];
        // A disabled server has `enabled: false`, and nothing else changes. Enabling it changes only the
        // value.
        const off = applyEdit(text, { do: 'switch', name: id, isEnabled: false });
        const before = loadCatalog(text).servers;
        expect(loadCatalog(off)).toEqual({
          servers: { ...before, [id]: { ...before[id], enabled: false } },
          errors: [],
        });
        expect(isSubsequence(off, text)).toBe(true);
        expect(off.replace(/[ \t]*"?enabled"?: false,?\s*/, '').replace(/\s/g, '')).toBe(
          text.replace(/\s/g, ''),
        );
        const on = applyEdit(off, { do: 'switch', name: id, isEnabled: true });
        expect(on).toBe(off.replace(/("?enabled"?): false/, '$1: true'));
        expect(applyEdit(on, { do: 'switch', name: id, isEnabled: true })).toBe(on);
        expect(loadCatalog(on)).toEqual(loadCatalog(text));
        expect(lines).not.toBe('');
      }),
      runOptions,
    );
  });

  test('that replaces a server keeps the position of the server', () => {
    fc.assert(
      fc.property(arbFile, fc.nat(), (original, index) => {
        const text = textOf(original);
        const { id } = original.servers[index % original.servers.length] as FilePieces['servers'][number];
        expect(editCatalog(text, { do: 'add', name: id, entry: { command: 'x' } })).toEqual({
          refusal: `it already has a server ${id}`,
        });
        const after = applyEdit(text, { do: 'add', name: id, entry: { command: 'x' }, isReplacing: true });
        const { servers, errors } = loadCatalog(after);
        expect(errors).toEqual([]);
        expect(servers[id]).toMatchObject({ command: 'x', args: [] });
        expect(Object.keys(servers)).toEqual(original.servers.map((each) => each.id));
      }),
      runOptions,
    );
  });
});

/** Returns the comment that follows a server in a flow mapping. It stays if the server is removed. */
const trailingCommentOf = (text: string) => (text.endsWith(' # about it') ? ' # about it' : '');

describe("an edit of an MCP client's configuration", () => {
  const arbCommentLine = (indent: string) =>
    fc.constantFrom('', `${indent}// about "it": {\n`, `${indent}/* one\n${indent}   two } */\n`, '\n');
  const arbTrailingComment = fc.constantFrom('', ' // mine', ' /* mine */');
  /** A client's file. `place` contains the file path and the servers' key. */
  const arbClientFile = fc.record({
    ids: arbIds.filter((each) => each.length > 1),
    place: fc.constantFrom(
      ['/h/.config/zed/settings.json', 'context_servers'] as const,
      ['/h/project/.vscode/mcp.json', 'servers'] as const,
      ['/h/.cursor/mcp.json', 'mcpServers'] as const,
      ['/h/x/cline_mcp_settings.json', 'mcpServers'] as const,
      ['/h/.gemini/settings.json', 'mcpServers'] as const,
      ['/h/.codeium/windsurf/mcp_config.json', 'mcpServers'] as const,
    ),
    head: fc.constantFrom('', '// settings\n', '/* of\nmine */\n'),
    before: arbCommentLine('    '),
    end: arbTrailingComment,
    inner: arbTrailingComment,
    hasComma: fc.boolean(),
    eol: fc.constantFrom('\n', '\r\n'),
  });
  type ClientFile = typeof arbClientFile extends fc.Arbitrary<infer T> ? T : never;
  /** Returns the file text. */
  const clientText = ({
    ids: names,
    place: [, key],
    head,
    before,
    end,
    inner,
    hasComma,
    eol,
  }: ClientFile) => {
    const servers = names.map((id, at) => {
      const comma = at < names.length - 1 || hasComma ? ',' : '';
      return `${before}    "${id}": {${inner}\n      "command": "${id}", // it's\n    }${comma}${end}\n`;
    });
    const text = `${head}{\n  "theme": "dark", // not light\n  "${key}": {\n${servers.join('')}    // the last\n  },\n}\n`;
    return text.replaceAll('\n', eol);
  };
  const commentsIn = (text: string) => text.match(/(?<!:)\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g) ?? [];
  /** Returns the servers that the gateway reads from a client's file. */
  const serversIn = (text: string, path: string) => {
    const { catalog, problems } = checkCatalog(new SourceFile(path, text), {});
    expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    return { ...catalog.servers };
  };

  test('keeps the comments, and the gateway reads the intended result', () => {
    fc.assert(
      fc.property(arbClientFile, fc.nat(), fc.boolean(), (file, index, isRemote) => {
        const [path] = file.place;
        const text = clientText(file);
        const servers = serversIn(text, path);
        expect(serverNames(text, path)).toEqual(file.ids);
        const apply = (entryText: string, edit: CatalogEdit) => {
          const after = editCatalog(entryText, edit, path);
          if (typeof after !== 'string') throw new Error(`${after.refusal}\n${entryText}`);
          return after;
        };
        const entry = isRemote
          ? { url: 'https://a.test/mcp', headers: { Authorization: ['Bearer $', '{T}'].join('') } }
          : { command: 'new', args: ['a'], env: { T: ['$', '{T}'].join('') } };
        const withNew = apply(text, { do: 'add', name: 'new', entry });
        expect(commentsIn(withNew)).toEqual(commentsIn(text));
        const all = serversIn(withNew, path);
        expect(withoutServer(all, 'new')).toEqual(servers);
        expect(all.new).toMatchObject(isRemote ? { runtime: 'http', url: entry.url } : { command: 'new' });
        expect(apply(withNew, { do: 'remove', name: 'new' })).toBe(text);

        const id = file.ids[index % file.ids.length] as string;
        const off = apply(text, { do: 'switch', name: id, isEnabled: false });
        expect(commentsIn(off)).toEqual(commentsIn(text));
        expect(serversIn(off, path)).toEqual({ ...servers, [id]: { ...servers[id], enabled: false } });
        // Cline and Windsurf have a `disabled` member, and other clients an `enabled` member.
        const hasDisabledMember = /cline|windsurf/.test(path);
        expect(off).toContain(hasDisabledMember ? '"disabled": true' : '"enabled": false');
        expect(serversIn(apply(off, { do: 'switch', name: id, isEnabled: true }), path)).toEqual(servers);

        const withoutOne = apply(text, { do: 'remove', name: id });
        expect(serversIn(withoutOne, path)).toEqual(withoutServer(servers, id));
        // Only the comments within the server are removed.
        const commentsInServer = commentsIn(`${file.inner}\n// it's`).length;
        expect(commentsIn(withoutOne)).toHaveLength(commentsIn(text).length - commentsInServer);
      }),
      runOptions,
    );
  });

  test('uses the format of that client', () => {
    /** Adds a server `n` to a client's file, and returns its entry. */
    const added = (path: string, text: string, entry: Record<string, unknown>) => {
      const after = editCatalog(text, { do: 'add', name: 'n', entry }, path);
      return Object.values(JSON.parse(after as string) as Record<string, { n: object }>)[0]?.n;
    };
    const remote = { url: 'https://a.test/mcp', headers: { A: ['$', '{T}'].join('') } };
    // A server with the older SSE transport.
    const sse = { url: 'https://a.test/sse', runtime: 'sse' };
    const headersWithEnv = { A: ['$', '{env:T}'].join('') };
    const vsCode = '/p/.vscode/mcp.json';
    expect(added(vsCode, '{"servers":{}}', remote)).toEqual({
      ...remote,
      type: 'http',
      headers: headersWithEnv,
    });
    expect(added(vsCode, '{"servers":{}}', { command: 'x' })).toEqual({ type: 'stdio', command: 'x' });
    const empty = '{"mcpServers":{}}';
    expect(added('/h/mcp_config.json', empty, remote)).toEqual({
      serverUrl: remote.url,
      headers: headersWithEnv,
    });
    expect(added('/h/.gemini/settings.json', empty, remote)).toEqual({
      httpUrl: remote.url,
      headers: remote.headers,
    });
    expect(added('/h/.gemini/settings.json', empty, sse)).toEqual({ url: sse.url });
    expect(added('/h/cline_mcp_settings.json', empty, remote)).toEqual({ ...remote, type: 'streamableHttp' });
    expect(added('/h/other.json', empty, sse)).toEqual({ type: 'sse', url: sse.url });
    expect(added('/h/catalog.json', '{"servers":{}}', sse)).toEqual(sse);
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
