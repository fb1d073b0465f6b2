// Common aliases of fields and YAML mistakes are reported with the correct form.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { excerpt } from '../../../config/reader/excerpt.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { parseYamlTree } from '../../../config/reader/yaml-tree.ts';
import { ConfigFolder } from './config-folder.ts';

const folder = new ConfigFolder();

describe('a common mistake in a configuration file', () => {
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
  ])(
    'such as %s in the gateway file is reported with the documented field name',
    async (line, expectedMessage) => {
      const { lines } = await folder.loadGateway(
        `listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\n${line}\n`,
      );
      expect(lines.map((each) => each.replace(/^gateway\.yaml:3:\d+: /, ''))).toEqual([expectedMessage]);
    },
  );

  test.each([
    [
      'command: x, timeout: 30',
      'timeout: unknown key; did you mean request_timeout_seconds? Write request_timeout_seconds: 30',
    ],
    [
      'command: x, timeout: 60000',
      'timeout: unknown key; did you mean request_timeout_seconds? Write request_timeout_seconds: 60, if 60000 is in milliseconds',
    ],
    [
      'command: x, startup_timeout_ms: 20000',
      'startup_timeout_ms: unknown key; did you mean start_timeout_seconds? Write start_timeout_seconds: 20',
    ],
    [
      'command: x, transport: stdio',
      'transport: unknown key; did you mean runtime? Write runtime: stdio, which is the default with command',
    ],
    ['url: "http://x/", transport: sse', 'transport: unknown key; did you mean runtime? Write runtime: sse'],
    [
      'url: "http://x/", transport: streamable-http',
      'transport: unknown key; did you mean runtime? Write runtime: http, which is the default with url',
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
      'command: expected text, found a list; command is the program only; put its arguments into args: [first, second]',
    ],
    [
      'command: x, args: "-t hunter2"',
      'args: expected a list, found text; write each argument as an item: args: [first, "second one"]',
    ],
  ])(
    'such as { %s } in a catalog entry is reported with the documented field name, without the value',
    async (entry, expectedMessage) => {
      const { lines } = await folder.loadCatalog(`servers:\n  a: { ${entry} }\n`);
      expect(lines.map((each) => each.replace(/^catalog\.yaml:2:\d+: servers\.a\./, ''))).toEqual([
        expectedMessage,
      ]);
    },
  );

  test('such as a server id with a space is reported with a valid id', async () => {
    const { lines } = await folder.loadCatalog('servers:\n  "my server": { command: x }\n');
    expect(lines).toEqual([expect.stringMatching(/^catalog\.yaml:2:3: .*; did you mean my-server\?$/)]);
  });
});

const complaint = (text: string) => {
  const [first] = parseYamlTree(new SourceFile('/f.yaml', text)).problems;
  const { line, column, message = '' } = first ?? {};
  return [`${line}:${column} ${message.replace('YAML syntax: ', '')}`, ...(first?.excerpt ?? [])];
};

describe('a YAML syntax error', () => {
  test.each([
    ['a:\n\tb: 1', /^2:1 indented with a tab; indent with spaces/],
    ['a:\n    b: 1\n   c: 2', /^3:1 this line is indented by 3 spaces, .*; indent it by 4 or 0/],
    ['a: 1\n  b: 2', /^1:4 the next line is indented deeper, but this line already has a value/],
    ['a: "b\nc: 1', /^1:4 a text in double quotes is not closed; write the closing "/],
    ["a: 1\nb: 'c\nd: 1", /^2:4 a text in single quotes is not closed; write the closing '/],
    ["a: 'it's'", /^1:8 the value continues after its closing quote; .* write '' for a quote inside/],
    ['a: see: this', /^1:4 a value that contains a colon and a space needs quotes: key: "first: second"/],
    ['a:1\nb: 2', /^1:1 a space is missing after the colon; write key: value/],
    ['a: 1\nb=2\nc: 3', /^2:1 this is shell syntax; write key: value/],
    ['a:\n  b\n    c: 1', /^2:3 this line has no colon; write key: value/],
    ['a: 1\na: 2', /^2:1 duplicate key "a", already used on line 1/],
    ['a: *b', /^1:4 a value that begins with \* is an alias in YAML, .*; put the value in quotes/],
    [
      'a: &b',
      /^1:\d a value that begins with & is an anchor in YAML, and its value is missing; put the value in quotes/,
    ],
    ['a: [1, 2\nb: 3', /^2:1 the \[ of line 1 is not closed; add the missing \]/],
    ['a: {b: 1\nc: 3', /^2:1 the \{ of line 1 is not closed; add the missing \}/],
    ['a: ]', /^1:4 a \] without an opening bracket/],
    ['a: "C:\\Users"', /^1:\d \\U is not an escape sequence; write \\\\ for a backslash/],
    ['a:\n  - b\n  c: 1', /^3:1 list items .* are mixed/],
    ['a: - b', /^1:4 a list must begin below its key/],
    ['a: | b', /^1:\d text after \| or > must begin on the next line/],
    ['{"a": 1 "b": 2}', /^1:\d a comma or a closing bracket is missing before this/],
    ['a: `b`', /^1:4 a value cannot begin with `; put the value in quotes/],
  ])('in %j is reported with the correct form, the line and a mark below it', (text, expectedMessage) => {
    const [message, line, mark] = complaint(text);
    expect(message).toMatch(expectedMessage);
    expect(line).toMatch(/^ +\d+ \| /);
    expect(mark).toMatch(/^ +\| *\^$/);
  });

  test('is marked in its line, which is shown with keys and references but masked values', () => {
    expect(complaint('a:\n  key: ${NAME} x: "hunter2"').slice(1)).toEqual([
      '    2 |   key: ${NAME} •: "•••••••"',
      '      |        ^',
    ]);
  });

  test('shows neither letters nor digits of a value, for any line', () => {
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
      fc.property(secret, frame, fc.nat(200), (secretText, line, column) => {
        const excerptText = excerpt(line.replaceAll('S', secretText), 1, column + 1).join('\n');
        expect(excerptText).not.toContain(secretText);
      }),
    );
  });

  test('does not repeat the text of a value, for any input', () => {
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
          // A duplicate key is named, because a key is never secret.
          if (message.startsWith('duplicate key')) continue;
          expect(message).not.toContain('SECRET');
        }
      }),
      {
        numRuns: 1000,
        examples: [
          [[': ', '\n  ', '!', 'XSECRETX', '!', ': ']],
          [['\n', 'key: ', '!', 'XSECRETX']],
          [['\n', 'key: ', '*', 'XSECRETX']],
          [['\n', 'key: ', '&', 'XSECRETX', '\n  ', '- ', '*', 'XSECRETX']],
        ],
      },
    );
  });
});
