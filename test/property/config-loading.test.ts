// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Loading of the gateway file (settings) and the catalog (tool servers). Any file returns a configuration, or
// a ConfigError with problems inside the file. The loader and the JSON Schema accept the same fields.
// References to variables are replaced byte for byte.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { entryHash } from '../../config/catalog/entry-hash.ts';
import { credentialsIn } from '../../config/credentials/credential-values.ts';
import { jsonSchemas } from '../../config/json-schema/json-schemas.ts';
import type { Problem } from '../../config/reader/problem.ts';
import { substitute } from '../../config/reader/substitute.ts';
import { runs } from '../fixtures/property-runs.ts';
import { ConfigFolder } from '../unit/config/config-folder.ts';

const folder = new ConfigFolder();

/** The required fields of the gateway file. */
const gatewayHead = 'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\n';

/** Fails unless the problem has a message, and a position inside its file. */
function expectInside({ file, line, column, message }: Problem): void {
  const lines = readFileSync(file, 'utf8').split('\n');
  expect(message).not.toBe('');
  expect(line).toBeGreaterThanOrEqual(1);
  expect(line).toBeLessThanOrEqual(lines.length);
  expect(column).toBeGreaterThanOrEqual(1);
  expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
}

/** Pieces of valid and invalid YAML. */
const piece = fc.constantFrom(
  ...[
    'servers:',
    'mcpServers:',
    'a:',
    '  b:',
    '\n',
    '\n  ',
    '\n    ',
    ' ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    ',',
    ': ',
    '"',
    "'",
  ],
  ...[
    '&x ',
    '*x',
    '!t ',
    '!!int ',
    '|\n',
    '>-\n',
    '#',
    '? ',
    '<<: ',
    '---\n',
    '...\n',
    '%YAML 1.1\n',
    '\t',
    '\r\n',
    '\0',
    '~',
  ],
  ...[
    'command',
    'url',
    'env',
    'headers',
    'pool',
    'max',
    'null',
    'true',
    '1',
    '-1',
    '0x1F',
    '.nan',
    '1e999',
    '2001-01-01',
  ],
  ...['${A}', '${B:-x}', '${', '$${', '}', '__proto__', 'http://u:p@h', 'é', '\u{1F600}', '\uFEFF', '@', '`'],
);
const garbage = fc.oneof(
  fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.json(),
);

const name = fc.oneof(
  fc.constantFrom('a', 'my server', 'x.y', '__proto__', 'é', 'a-b', 'a b'),
  fc.string({ maxLength: 8 }),
);
/** Values of fields, valid for some fields and invalid for others. */
const fieldValue = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    1,
    -1,
    1.5,
    3e9,
    '',
    'x',
    'shared',
    'session',
    'stdio',
    'sse',
    'http://h/',
  ),
  fc.constantFrom<unknown>(
    [],
    ['x'],
    [1],
    {},
    { A: 'b' },
    { max: 2 },
    { max: 0 },
    { allow: ['x'] },
    { failures: 1.5 },
  ),
);
/** Catalog entry fields. `type` and `disabled` are fields of clients' formats, `zebra` is unknown. */
const entryKeys = [
  ...[
    'command',
    'url',
    'args',
    'env',
    'headers',
    'cwd',
    'inherit_env',
    'runtime',
    'isolation',
    'enabled',
    'pool',
    'tools',
  ],
  ...[
    'health',
    'restart',
    'idle_timeout_seconds',
    'start_timeout_seconds',
    'forward_roots',
    'type',
    'disabled',
    'zebra',
  ],
];
const entry = fc.dictionary(fc.constantFrom(...entryKeys), fieldValue, { maxKeys: 4 });

describe('loading a configuration', () => {
  test('throws no error other than ConfigError, and each problem has a position inside its file', async () => {
    await fc.assert(
      // References to the variable A insert invalid YAML.
      fc.asyncProperty(garbage, garbage, async (gateway, catalog) => {
        folder.write('catalog.yaml', catalog);
        folder.write('gateway.yaml', gateway);
        for (const problem of (await folder.load({ A: 'b: [' })).problems) expectInside(problem);
        folder.write('gateway.yaml', `${gatewayHead}${gateway}`);
        for (const problem of (await folder.load({ A: 'b: [' })).problems) expectInside(problem);
      }),
      { numRuns: runs(200) },
    );
  });

  test('rejects binary files, and each reported position is inside the file', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), async (bytes) => {
        folder.write('gateway.yaml', bytes);
        const { loaded, problems } = await folder.load();
        expect(loaded).toBeUndefined();
        for (const problem of problems) expectInside(problem);
      }),
    );
  });

  test('returns a catalog or at least one error, for entries of any shape in both formats', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('servers', 'mcpServers'),
        fc.dictionary(name, entry, { maxKeys: 3 }),
        fc.constantFrom(undefined, 1, '\t'),
        async (key, servers, indent) => {
          const { loaded, problems } = await folder.loadCatalog(
            JSON.stringify({ [key]: servers }, null, indent),
          );
          for (const problem of problems) expectInside(problem);
          const hasError = problems.some(({ severity }) => severity === 'error');
          expect(loaded === undefined).toBe(hasError);
          if (!loaded) return;
          // In the file of a client, an invalid entry is skipped with warnings.
          const hasSkipped = problems.some(({ message }) => message.includes('the server is skipped'));
          const count = Object.keys(loaded.catalog.servers).length;
          if (hasSkipped) expect(count).toBeLessThan(Object.keys(servers).length);
          else expect(count).toBe(Object.keys(servers).length);
        },
      ),
      { numRuns: runs(200), examples: [['mcpServers', { '': {}, a: { command: 'http://h/' } }, undefined]] },
    );
  });

  test('accepts single fields exactly if the JSON Schema accepts them', async () => {
    const knownKeys = entryKeys.filter((key) => key !== 'zebra');
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom({ command: 'x' }, { url: 'http://h/' }),
        fc.constantFrom(...knownKeys),
        fieldValue,
        async (base, key, value) => {
          const catalog = { servers: { a: { ...base, [key]: value } } };
          // The schema does not check the form of URLs.
          fc.pre(!(key === 'url' && typeof value === 'string' && value !== '' && !value.includes('://')));
          const { lines } = await folder.loadCatalog(JSON.stringify(catalog));
          expect(lines.length === 0, lines.join('\n')).toBe(Check(jsonSchemas.catalog, catalog));
        },
      ),
      { numRuns: runs(200) },
    );
  });

  test('accepts the gateway file exactly if the JSON Schema accepts the file', async () => {
    const keys = [
      'api_key',
      'log_level',
      'state_dir',
      'allowed_hosts',
      'allowed_origins',
      'limits',
      'inspector',
    ];
    const values = fc.oneof(
      fieldValue,
      fc.constantFrom<unknown>(
        'info',
        { enabled: false },
        { in_flight: 3 },
        { sessions: 0 },
        ['http://h'],
        ' x',
        'ü',
      ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom(...keys, 'shutdown_seconds', 'list_timeout_seconds', 'zebra'), values, {
          maxKeys: 3,
        }),
        async (fields) => {
          const gateway = { listen_addr: '127.0.0.1:0', catalog_path: 'catalog.yaml', ...fields };
          const { loaded } = await folder.loadGateway(JSON.stringify(gateway));
          expect(loaded !== undefined).toBe(Check(jsonSchemas.gateway, gateway));
        },
      ),
      { numRuns: runs(200) },
    );
  });
});

describe('the substitution of variable references', () => {
  const variable = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,5}$/);

  test('keeps text without references, and restores escaped text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('$', '{', '}', 'A', ':', '-', ' ') }), (text) => {
        // `$${` means the text `${`.
        const escaped = text.replaceAll('${', () => '$${');
        const substituted = substitute(escaped, {});
        expect(substituted.faults).toEqual([]);
        expect(substituted.text).toBe(text);
        if (!text.includes('${')) expect(escaped).toBe(text);
      }),
    );
  });

  test('inserts each value at its place, even if it contains a reference', () => {
    const plain = fc.string().map((text) => text.replaceAll('$', ''));
    fc.assert(
      fc.property(fc.array(fc.tuple(plain, variable)), plain, fc.string(), (parts, tail, value) => {
        const env = Object.fromEntries(parts.map(([, key], index) => [key, `${value}${index}`]));
        const input = parts.map(([text, key]) => `${text}\${${key}}`).join('') + tail;
        const output = parts.map(([text, key]) => `${text}${env[key]}`).join('') + tail;
        expect(substitute(input, env)).toMatchObject({ text: output, faults: [] });
      }),
    );
  });

  test('in a file inserts the value of a variable byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (value) => {
        const { loaded } = await folder.loadCatalog('servers:\n  a: { command: x, args: ["<${V}>"] }\n', {
          V: value,
        });
        const server = loaded?.catalog.servers.a;
        // Process arguments contain no null characters.
        if (value.includes('\0')) expect(server).toBeUndefined();
        else expect(server).toMatchObject({ args: [`<${value}>`] });
        if (loaded)
          expect(loaded.secrets).toEqual(expect.arrayContaining([...credentialsIn(value, 'supplied')]));
      }),
    );
  });
});

describe('the hash of a catalog entry', () => {
  test('does not depend on the order of keys in the file or in the entry', async () => {
    const fields = {
      command: 'x',
      args: ['b', 'a'],
      env: { B: '1', A: '2' },
      pool: { waiting: 3, max: 2 },
      health: { failures: 2, interval_seconds: 9 },
      enabled: false,
    };
    const shuffled = fc.shuffledSubarray(Object.entries(fields), { minLength: Object.keys(fields).length });
    const hashes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(shuffled, fc.boolean(), async (entries, isReversed) => {
        const members = entries.map(([key, value]) => {
          const isReversible = !Array.isArray(value) && typeof value === 'object';
          return isReversed && isReversible
            ? [key, Object.fromEntries(Object.entries(value).reverse())]
            : [key, value];
        });
        const { loaded } = await folder.loadCatalog(
          JSON.stringify({ servers: { a: Object.fromEntries(members) } }),
        );
        const server = loaded?.catalog.servers.a;
        if (server === undefined) throw new Error('the entry is good');
        hashes.add(entryHash(server));
        hashes.add(
          entryHash(Object.fromEntries(Object.entries(server).reverse()) as unknown as typeof server),
        );
        expect(hashes.size).toBe(1);
      }),
      { numRuns: runs(50) },
    );
  });
});
