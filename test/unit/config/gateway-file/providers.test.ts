import { describe, expect, test } from 'vitest';
import { findProvider, usableProviders } from '../../../../config/gateway-file/providers.ts';
import { SecretValues } from '../../../../config/reader/secret-values.ts';
import { loadGatewayResources } from '../../../../config/resources/gateway-resources.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const head = 'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\n';

describe('a model provider', () => {
  test.each([
    ['openai', 'OPENAI_API_KEY', 'https://api.openai.com/v1', 'json_schema'],
    ['anthropic', 'ANTHROPIC_API_KEY', 'https://api.anthropic.com/v1', 'json_schema'],
    ['google', 'GEMINI_API_KEY', 'https://generativelanguage.googleapis.com/v1beta', 'json_schema'],
    ['google', 'GOOGLE_API_KEY', 'https://generativelanguage.googleapis.com/v1beta', 'json_schema'],
    [
      'google',
      'GOOGLE_GENERATIVE_AI_API_KEY',
      'https://generativelanguage.googleapis.com/v1beta',
      'json_schema',
    ],
    ['groq', 'GROQ_API_KEY', 'https://api.groq.com/openai/v1', 'json_object'],
  ])(
    '%s needs no entry in the gateway file if the environment variable %s is set',
    (name, variable, base_url, structured_output) => {
      expect(findProvider(name, {}, { [variable]: 'the-usual-key' })).toEqual({
        name,
        type: name,
        api_key: 'the-usual-key',
        base_url,
        headers: {},
        structured_output,
      });
    },
  );

  test.each([
    [undefined, 'http://127.0.0.1:11434/v1'],
    ['', 'http://127.0.0.1:11434/v1'],
    ['0.0.0.0', 'http://127.0.0.1:11434/v1'],
    ['box:1234', 'http://box:1234/v1'],
    ['http://box:80', 'http://box/v1'],
    ['https://box.example/', 'https://box.example/v1'],
    ['http://box:1234/v1', 'http://box:1234/v1'],
  ])('of type ollama with OLLAMA_HOST %j has the address %s, without a key', (OLLAMA_HOST, base_url) => {
    expect(findProvider('ollama', {}, { OLLAMA_HOST })).toMatchObject({ base_url, api_key: undefined });
  });

  test('with characters in its key that no header may contain is reported, without the key', () => {
    for (const OPENAI_API_KEY of ['sk-first\nsk-second', 'sk-\u00e9', 'sk\u0000'])
      expect(findProvider('openai', {}, { OPENAI_API_KEY })).toEqual({
        fault:
          'provider openai has an invalid key: OPENAI_API_KEY contains a line break or another character not allowed in headers; set it to the key only',
      });
    expect(findProvider('openai', {}, { OPENAI_API_KEY: 'sk-first\n' })).toMatchObject({
      api_key: 'sk-first',
    });
  });

  test('refuses a key in shell syntax', async () => {
    for (const [name, key] of [
      ['openai', '$OPENAI_API_KEY'],
      ['my.own', '%OWN_KEY%'],
    ])
      expect(
        (await folder.loadGateway(`${head}providers: { ${name}: { api_key: "${key}" } }\n`)).lines,
      ).toEqual([expect.stringMatching(/api_key"?\]?: is shell syntax, which is not expanded here/)]);
  });

  test.each([
    [
      'http://me:hush-hush@h.example/v1',
      'contains a user name or password; use api_key, or headers with an Authorization',
    ],
    [
      'https://h.example/v1?key=hush-hush',
      'has a query or a fragment, but call paths are appended to it; use api_key or headers instead',
    ],
    [
      'https://h.example/v1/chat/completions',
      'ends with the path of a call; write only the part before /chat/completions',
    ],
    ['https://h.example/v1/messages/', 'ends with the path of a call; write only the part before /messages'],
    ['https://h.example:port/v1', 'is not a valid address'],
  ])('refuses the address %s', async (base_url, fault) => {
    const { lines } = await folder.loadGateway(`${head}providers: { mine: { base_url: "${base_url}" } }\n`);
    expect(lines).toEqual([`gateway.yaml:3:32: providers.mine.base_url: ${fault}`]);
  });

  test('warns about a key that would be sent unencrypted over a public network', async () => {
    const messages = async (base_url: string, more = ', api_key: hush-hush') =>
      (await folder.loadGateway(`${head}providers: { mine: { base_url: "${base_url}"${more} } }\n`)).lines;
    const clear =
      'gateway.yaml:3:32: warning: providers.mine.base_url: the key would be sent unencrypted; use https://';
    for (const url of ['http://api.example.com/v1', 'http://8.8.8.8:8000/v1', 'http://172.32.0.1/v1'])
      expect(await messages(url)).toEqual([clear]);
    expect(await messages('http://api.example.com/v1', ', headers: { X-Key: hush-hush }')).toEqual([clear]);
    expect(await messages('http://api.example.com/v1', '')).toEqual([]);
    for (const host of [
      'localhost',
      '127.0.0.1',
      '[::1]',
      'ollama',
      'box.local',
      '10.1.2.3',
      '192.168.0.9',
      '172.16.0.1',
      'host.docker.internal',
    ])
      expect(await messages(`http://${host}:8000/v1`)).toEqual([]);
    expect(await messages('https://api.example.com/v1')).toEqual([]);
  });

  test('may be silent for timeout_seconds of its entry, which has bounds', async () => {
    const { loaded } = await folder.loadGateway(`${head}providers: { ollama: { timeout_seconds: 900.5 } }\n`);
    const providers = loaded?.config.providers ?? {};
    expect(findProvider('ollama', providers, {})).toMatchObject({ timeout_seconds: 900.5 });
    for (const [bad, expected] of [
      ['0', '> 0'],
      ['3000000', '<= 2147483'],
      ['1m', '> 0'],
    ])
      expect(
        (await folder.loadGateway(`${head}providers: { ollama: { timeout_seconds: ${bad} } }\n`)).lines,
      ).toEqual([
        expect.stringContaining(`providers.ollama.timeout_seconds: expected a number ${expected}, found`),
      ]);
  });

  test('without a key is reported with its usual variables', () => {
    expect(findProvider('google', {}, { OPENAI_API_KEY: 'of-another' })).toEqual({
      fault:
        'provider google has no key: set the environment variable GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY',
    });
    expect(findProvider('openai', {}, { OPENAI_API_KEY: ' ' })).toHaveProperty('fault');
  });

  test('that is unknown is reported with a suggestion or the place to define it', () => {
    expect(findProvider('gogle', {}, {})).toEqual({
      fault: 'unknown provider gogle; did you mean google?',
    });
    expect(findProvider('azure', {}, {})).toEqual({
      fault:
        'unknown provider azure; known are openai, anthropic, google, groq, ollama; others need an entry under providers of the gateway file',
    });
    expect(findProvider('constructor', {}, {})).toHaveProperty('fault');
    expect(findProvider('own', { own: {} }, {})).toEqual({
      fault: 'provider own has no address: give it a base_url under providers of the gateway file',
    });
  });

  test('with a base_url never receives the key of the usual variable', () => {
    const env = { OPENAI_API_KEY: 'the-usual-key' };
    const providers = {
      openai: { base_url: 'http://127.0.0.1:8000/v1/' },
      mine: { type: 'openai' as const },
    };
    expect(findProvider('openai', providers, env)).toMatchObject({
      api_key: undefined,
      base_url: 'http://127.0.0.1:8000/v1',
    });
    expect(findProvider('mine', providers, env)).toMatchObject({ type: 'openai', api_key: 'the-usual-key' });
  });

  test('adds its key to the secrets for redaction, from any source', () => {
    const secrets = new SecretValues();
    const providers = {
      local: { base_url: 'http://a/v1', api_key: 'written-key' },
    };
    const usable = usableProviders(providers, { GROQ_API_KEY: 'the-groq-key' }, secrets);
    expect([...usable.keys()]).toEqual(['groq', 'ollama', 'local']);
    expect(secrets.list()).toEqual(expect.arrayContaining(['the-groq-key', 'written-key']));
  });
});

test('loading agents adds the provider keys of the usual variables to the secrets for redaction', async () => {
  folder.write('catalog.yaml', 'servers: { wiki: { command: x } }\n');
  folder.write(
    'a.yaml',
    'apiVersion: a/v1\nkind: Agent\nmetadata: { name: a }\nspec: { model: "google:m", mcp_servers: [wik] }\n',
  );
  folder.write('gateway.yaml', `${head}spec: { triggers: { directory: . } }\n`);
  const env = { GEMINI_API_KEY: 'the-usual-key', GROQ_API_KEY: 'of-nobody-here' };
  const { loaded } = await folder.load(env);
  if (loaded === undefined) throw new Error('expected a valid gateway file');
  const secrets = new SecretValues();
  const servers = Object.keys(loaded.catalog.servers);
  const { problems } = await loadGatewayResources(loaded.config, env, secrets, servers);
  expect(secrets.list()).toEqual(expect.arrayContaining(['the-usual-key', 'of-nobody-here']));
  const messages = problems.map(({ message }) => message);
  expect(messages).toContain('spec.mcp_servers[0]: the catalog has no server wik; did you mean wiki?');
  expect(messages.join()).not.toContain('the-usual-key');
});

describe('the gateway file', () => {
  const fields = `providers:
  local: { base_url: "http://127.0.0.1:8000/v1", api_key: "\${LOCAL_KEY}", structured_output: json_object }
prices:
  "google:gemini-2.5-flash": { input: 0.3, output: 2.5, cached_input: 0.03 }
`;
  const expected = {
    providers: {
      local: {
        base_url: 'http://127.0.0.1:8000/v1',
        api_key: 'the-local-key',
        structured_output: 'json_object',
      },
    },
    prices: { 'google:gemini-2.5-flash': { input: 0.3, output: 2.5, cached_input: 0.03 } },
  };
  const env = { LOCAL_KEY: 'the-local-key' };

  test('the providers and prices in a gateway file are accepted in every form of the file, also in spec', async () => {
    for (const text of [
      head + fields,
      `http_port: 0\n${fields}`,
      `http_port: 0\nspec:\n${fields.replace(/^/gm, '  ').trimEnd()}\n`,
    ]) {
      const { loaded, lines } = await folder.loadGateway(text, env);
      expect(lines).toEqual([]);
      expect(loaded?.config).toMatchObject(expected);
      expect(loaded?.config.spec).not.toHaveProperty('providers');
      expect(loaded?.secrets).toContain('the-local-key');
    }
  });

  test.each([
    ['providers: { a: { typ: openai } }', 'providers.a.typ: unknown key; did you mean type?'],
    [
      'providers: { a: { type: azure } }',
      'providers.a.type: expected one of openai, anthropic, google, groq, ollama, openai-compatible, found "azure"',
    ],
    ['providers: { "a:b": {} }', 'providers["a:b"]: the key should be a name of A-Z a-z 0-9 . _ -'],
    [
      'providers: { a: { base_url: here } }',
      'providers.a.base_url: expected an address that begins with https:// or http://, found "here"',
    ],
    [
      'prices: { flash: { input: 1, output: 1 } }',
      'prices.flash: the key should be PROVIDER:MODEL, such as google:gemini-2.5-flash',
    ],
    ['prices: { "a:b": { input: 1 } }', 'prices["a:b"].output: required, but missing'],
    ['prices: { "a:b": { input: -1, output: 1 } }', 'prices["a:b"].input: expected a number >= 0, found -1'],
  ])('invalid providers or prices in a gateway file are refused: %s', async (text, problem) => {
    const { lines } = await folder.loadGateway(head + text);
    expect(lines.map((line) => line.replace(/^[^ ]* /, ''))).toEqual([problem]);
  });

  test('providers in a gateway file cannot be defined twice, and no error message shows a key', async () => {
    const { lines } = await folder.loadGateway(
      'http_port: 0\nproviders: {}\nspec: { providers: { a: { api_key: [k-secret] } } }\n',
    );
    expect(lines).toEqual(['gateway.yaml:3:9: spec.providers: duplicates providers at the top level']);
    const rejectedFile = await folder.loadGateway(
      `${head}providers: { a: { api_key: "two\\nlines-of-a-key" } }`,
    );
    expect(rejectedFile.lines.join()).toMatch(/providers\.a\.api_key: expected printable ASCII/);
    expect(rejectedFile.lines.join()).not.toContain('lines-of-a-key');
  });
});
