// What people write by habit, and what YAML says of slips, in words that say what to write instead.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is told.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { excerpt } from '../../../config/reader/excerpt.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { parseYamlTree } from '../../../config/reader/yaml-tree.ts';
import { ConfigFolder } from './config-folder.ts';

const folder = new ConfigFolder();

describe('a field as other programs call it', () => {
  test.each([
    ['port: 3000', 'port: unknown key; did you mean listen_addr? Write listen_addr: 127.0.0.1:3000'],
    ['host: 0.0.0.0', 'host: unknown key; did you mean listen_addr? Write listen_addr: 0.0.0.0:8080'],
    ['host: box.example.com', 'host: unknown key; did you mean listen_addr? Write listen_addr: HOST:8080'],
    [
      'timeout: 30',
      'timeout: unknown key; did you mean request_timeout_seconds? Write it into the entry of a server in the catalog, in seconds',
    ],
    ['token: hunter2', 'token: unknown key; did you mean api_key? Write api_key: ${GATEWAY_API_KEY}'],
    ['apiKey: hunter2', 'apiKey: unknown key; did you mean api_key?'],
    [
      'auth: hunter2',
      'auth: expected a mapping (key: value), found text; did you mean api_key? Write api_key: ${GATEWAY_API_KEY}',
    ],
    [
      'auth: { token: hunter2 }',
      'auth.token: unknown key; did you mean api_key? Write it at the top of the file: api_key: ${GATEWAY_API_KEY}',
    ],
    [
      'triggers: ./triggers',
      'triggers: unknown key; did you mean spec.triggers.directory? Write spec: { triggers: { directory: ./triggers } }',
    ],
  ])('of the gateway file, as in %s, is told by its name here', async (line, said) => {
    const { lines } = await folder.loadGateway(
      `listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\n${line}\n`,
    );
    expect(lines.map((each) => each.replace(/^gateway\.yaml:3:\d+: /, ''))).toEqual([said]);
  });

  test.each([
    [
      'command: x, timeout: 30',
      'timeout: unknown key; did you mean request_timeout_seconds? Write request_timeout_seconds: 30',
    ],
    [
      'command: x, timeout: 60000',
      'timeout: unknown key; did you mean request_timeout_seconds? Write request_timeout_seconds: 60, if 60000 was meant in milliseconds',
    ],
    [
      'command: x, startup_timeout_ms: 20000',
      'startup_timeout_ms: unknown key; did you mean start_timeout_seconds? Write start_timeout_seconds: 20',
    ],
    [
      'command: x, transport: stdio',
      'transport: unknown key; did you mean runtime? Write runtime: stdio, or nothing: a command means it',
    ],
    ['url: "http://x/", transport: sse', 'transport: unknown key; did you mean runtime? Write runtime: sse'],
    [
      'url: "http://x/", transport: streamable-http',
      'transport: unknown key; did you mean runtime? Write runtime: http, or nothing: a url means it',
    ],
    [
      'url: "http://x/", auth: hunter2',
      'auth: unknown key; did you mean headers? Write headers: { Authorization: "Bearer ${TOKEN}" }',
    ],
    [
      'command: x, apiKey: hunter2',
      'apiKey: unknown key; did you mean env? Write env: { API_KEY: "${API_KEY}" }, with the name that the server reads',
    ],
    [
      'command: x, env: [A=hunter2]',
      'env: expected a mapping (key: value), found a list; write each variable as NAME: value, not as NAME=value',
    ],
    [
      'command: [npx, hunter2]',
      'command: expected text, found a list; the program alone is command; what follows it is args: [first, second]',
    ],
    [
      'command: x, args: "-t hunter2"',
      'args: expected a list, found text; write each argument as an item: args: [first, "second one"]',
    ],
  ])(
    'HAB1: of an entry, as in { %s }, is told by its name here, and no value is repeated',
    async (entry, said) => {
      const { lines } = await folder.loadCatalog(`servers:\n  a: { ${entry} }\n`);
      expect(lines.map((each) => each.replace(/^catalog\.yaml:2:\d+: servers\.a\./, ''))).toEqual([said]);
    },
  );

  test('as an id with a space is told with the id that it could be', async () => {
    const { lines } = await folder.loadCatalog('servers:\n  "my server": { command: x }\n');
    expect(lines).toEqual([expect.stringMatching(/^catalog\.yaml:2:3: .*; did you mean my-server\?$/)]);
  });
});

const complaint = (text: string) => {
  const [first] = parseYamlTree(new SourceFile('/f.yaml', text)).problems;
  const { line, column, message = '' } = first ?? {};
  return [`${line}:${column} ${message.replace('YAML syntax: ', '')}`, ...(first?.excerpt ?? [])];
};

describe("YAML's own complaint", () => {
  test.each([
    ['a:\n\tb: 1', /^2:1 a tab stands where YAML takes spaces only; indent with spaces/],
    ['a:\n    b: 1\n   c: 2', /^3:1 this line begins with 3 spaces, .*; write 4 or 0/],
    ['a: 1\n  b: 2', /^1:4 the line below is indented deeper, but this line has a value already/],
    ['a: "b\nc: 1', /^1:4 a text in double quotes is not closed; write the closing "/],
    ["a: 1\nb: 'c\nd: 1", /^2:4 a text in single quotes is not closed; write the closing '/],
    ["a: 'it's'", /^1:8 the value goes on after its closing quote; .* write '' for a quote inside/],
    ['a: see: this', /^1:4 a value that has a colon and a space in it needs quotes: key: "first: second"/],
    ['a:1\nb: 2', /^1:1 a space is missing after the colon; write key: value/],
    ['a: 1\nb=2\nc: 3', /^2:1 this is written as in a shell; write key: value/],
    ['a:\n  b\n    c: 1', /^2:3 this line has no colon; write key: value/],
    ['a: 1\na: 2', /^2:1 duplicate key "a", already used on line 1/],
    ['a: *b', /^1:4 alias \*b has no anchor &b before it; put the value in quotes/],
    [
      'a: &b',
      /^1:\d what begins with & is an anchor in YAML, and nothing follows it; put the value in quotes/,
    ],
    ['a: [1, 2\nb: 3', /^2:1 the \[ of line 1 is not closed; write the \] that is missing/],
    ['a: {b: 1\nc: 3', /^2:1 the \{ of line 1 is not closed; write the \} that is missing/],
    ['a: ]', /^1:4 a \] closes nothing/],
    ['a: "C:\\Users"', /^1:\d \\U means nothing in double quotes; write \\\\ for a backslash/],
    ['a:\n  - b\n  c: 1', /^3:1 items of a list .* stand side by side/],
    ['a: - b', /^1:4 a list begins below its key/],
    ['a: | b', /^1:\d after \| or > the line ends/],
    ['{"a": 1 "b": 2}', /^1:\d inside \{ \} and \[ \] something is missing before this: a comma/],
    ['a: `b`', /^1:4 a value cannot begin with `; put the value in quotes/],
  ])('of %j says what to write, with the line and a mark below it', (text, said) => {
    const [message, line, mark] = complaint(text);
    expect(message).toMatch(said);
    expect(line).toMatch(/^ +\d+ \| /);
    expect(mark).toMatch(/^ +\| *\^$/);
  });

  test('points at its place in the line, which keeps its keys, quotes and references', () => {
    expect(complaint('a:\n  key: ${NAME} x: "hunter2"').slice(1)).toEqual([
      '    2 |   key: ${NAME} •: "•••••••"',
      '      |        ^',
    ]);
  });

  test('EX1: shows no letter and no digit of a value, whatever the line', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9]{4,40}$/);
    const frame = fc.constantFrom(
      'key: S',
      '  - S',
      '"key": "S',
      "key: 'S' x",
      'key: {a: S',
      '- S # S',
      'k: &S\t*S',
    );
    fc.assert(
      fc.property(secret, frame, fc.nat(200), (word, line, column) => {
        const shown = excerpt(line.replaceAll('S', word), 1, column + 1).join('\n');
        expect(shown).not.toContain(word);
      }),
    );
  });

  test('YC1: repeats no text of a value, whatever is written', () => {
    const piece = fc.constantFrom(
      ...[
        ': ',
        ':',
        '\n',
        '\n  ',
        '\n\t',
        '- ',
        '"',
        "'",
        '[',
        ']',
        '{',
        '}',
        ',',
        '#',
        '&',
        '*',
        '!',
        '|',
        '>',
        '@',
        '\\',
        '${',
        'key: ',
      ],
      'XSECRETX',
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
        for (const { message } of parseYamlTree(new SourceFile('/f.yaml', `key: XSECRETX${pieces.join('')}`))
          .problems) {
          // Names of keys, anchors and tags are told, as ever.
          if (/^(?:duplicate key|alias|Unresolved tag)/.test(message)) continue;
          expect(message).not.toContain('SECRET');
        }
      }),
      { numRuns: 1000 },
    );
  });
});
