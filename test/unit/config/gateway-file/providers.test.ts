import { describe, expect, test } from 'vitest';
import { findProvider, usableProviders } from '../../../../config/gateway-file/providers.ts';
import { SecretValues } from '../../../../config/reader/secret-values.ts';
import { loadGatewayResources } from '../../../../config/resources/gateway-resources.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const head = 'listen_addr: 127.0.0.1:0\ncatalog_path: catalog.yaml\n';

describe('a provider', () => {
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
  ])('%s needs no entry where %s is set', (name, variable, base_url, structured_output) => {
    expect(findProvider(name, {}, { [variable]: 'the-usual-key' })).toEqual({
      name,
      type: name,
      api_key: 'the-usual-key',
      base_url,
      headers: {},
      structured_output,
    });
  });

  test.each([
    [undefined, 'http://127.0.0.1:11434/v1'],
    ['', 'http://127.0.0.1:11434/v1'],
    ['0.0.0.0', 'http://127.0.0.1:11434/v1'],
    ['box:1234', 'http://box:1234/v1'],
    ['http://box:80', 'http://box/v1'],
    ['https://box.example/', 'https://box.example/v1'],
    ['http://box:1234/v1', 'http://box:1234/v1'],
  ])('ollama with OLLAMA_HOST %j is at %s, without a key', (OLLAMA_HOST, base_url) => {
    expect(findProvider('ollama', {}, { OLLAMA_HOST })).toMatchObject({ base_url, api_key: undefined });
  });

  test('whose usual variable holds what cannot be sent is told so, without it', () => {
    for (const OPENAI_API_KEY of ['sk-first\nsk-second', 'sk-\u00e9', 'sk\u0000'])
      expect(findProvider('openai', {}, { OPENAI_API_KEY })).toEqual({
        fault:
          'provider openai has no key that can be sent: OPENAI_API_KEY holds a line break, or another sign that no header takes; set it to the key alone',
      });
    expect(findProvider('openai', {}, { OPENAI_API_KEY: 'sk-first\n' })).toMatchObject({
      api_key: 'sk-first',
    });
  });

  test('has no key that only a shell would have replaced', async () => {
    for (const [name, key] of [
      ['openai', '$OPENAI_API_KEY'],
      ['my.own', '%OWN_KEY%'],
    ])
      expect(
        (await folder.loadGateway(`${head}providers: { ${name}: { api_key: "${key}" } }\n`)).lines,
      ).toEqual([
        expect.stringMatching(
          /api_key"?\]?: would be these very characters, which are replaced in a shell and not here/,
        ),
      ]);
  });

  test.each([
    [
      'http://me:hush-hush@h.example/v1',
      'holds a user name or password; write api_key, or headers with an Authorization',
    ],
    [
      'https://h.example/v1?key=hush-hush',
      'has a query or a fragment, and the path of each call would stand behind it; write what it says as api_key or headers',
    ],
    [
      'https://h.example/v1/chat/completions',
      'ends with the path of one call; write only what stands before /chat/completions',
    ],
    [
      'https://h.example/v1/messages/',
      'ends with the path of one call; write only what stands before /messages',
    ],
    ['https://h.example:port/v1', 'is no address that can be used'],
  ])('is not at %s', async (base_url, fault) => {
    const { lines } = await folder.loadGateway(`${head}providers: { mine: { base_url: "${base_url}" } }\n`);
    expect(lines).toEqual([`gateway.yaml:3:32: providers.mine.base_url: ${fault}`]);
  });

  test('whose key would go over an open network as it is is told so', async () => {
    const told = async (base_url: string, more = ', api_key: hush-hush') =>
      (await folder.loadGateway(`${head}providers: { mine: { base_url: "${base_url}"${more} } }\n`)).lines;
    const clear =
      'gateway.yaml:3:32: warning: providers.mine.base_url: the key goes there as it is, for everybody on the way to read; write https://';
    for (const url of ['http://api.example.com/v1', 'http://8.8.8.8:8000/v1', 'http://172.32.0.1/v1'])
      expect(await told(url)).toEqual([clear]);
    expect(await told('http://api.example.com/v1', ', headers: { X-Key: hush-hush }')).toEqual([clear]);
    expect(await told('http://api.example.com/v1', '')).toEqual([]);
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
      expect(await told(`http://${host}:8000/v1`)).toEqual([]);
    expect(await told('https://api.example.com/v1')).toEqual([]);
  });

  test('may be silent for as long as its entry says', async () => {
    const { loaded } = await folder.loadGateway(`${head}providers: { ollama: { timeout_seconds: 900.5 } }\n`);
    const written = loaded?.config.providers ?? {};
    expect(findProvider('ollama', written, {})).toMatchObject({ timeout_seconds: 900.5 });
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

  test('without a key is told with the variables that would have it', () => {
    expect(findProvider('google', {}, { OPENAI_API_KEY: 'of-another' })).toEqual({
      fault:
        'provider google has no key: set the environment variable GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY',
    });
    expect(findProvider('openai', {}, { OPENAI_API_KEY: ' ' })).toHaveProperty('fault');
  });

  test('that is not known is told with the one that was meant, or with where to write it', () => {
    expect(findProvider('gogle', {}, {})).toEqual({
      fault: 'there is no provider gogle; did you mean google?',
    });
    expect(findProvider('azure', {}, {})).toEqual({
      fault:
        'there is no provider azure: known are openai, anthropic, google, groq, ollama; any other needs an entry under providers of the gateway file',
    });
    expect(findProvider('constructor', {}, {})).toHaveProperty('fault');
    expect(findProvider('own', { own: {} }, {})).toEqual({
      fault: 'provider own has no address: give it a base_url under providers of the gateway file',
    });
  });

  test('at an address of its own never gets the key of the usual variable (PV1)', () => {
    const env = { OPENAI_API_KEY: 'the-usual-key' };
    const written = { openai: { base_url: 'http://127.0.0.1:8000/v1/' }, mine: { type: 'openai' as const } };
    expect(findProvider('openai', written, env)).toMatchObject({
      api_key: undefined,
      base_url: 'http://127.0.0.1:8000/v1',
    });
    expect(findProvider('mine', written, env)).toMatchObject({ type: 'openai', api_key: 'the-usual-key' });
  });

  test('has its key among the secrets, wherever that came from (PV2)', () => {
    const secrets = new SecretValues();
    const written = {
      local: { base_url: 'http://a/v1', api_key: 'written-key' },
    };
    const usable = usableProviders(written, { GROQ_API_KEY: 'the-groq-key' }, secrets);
    expect([...usable.keys()]).toEqual(['groq', 'ollama', 'local']);
    expect(secrets.list()).toEqual(expect.arrayContaining(['the-groq-key', 'written-key']));
  });
});

test('keys of the usual variables are secrets wherever agents are loaded (PV2)', async () => {
  folder.write('catalog.yaml', 'servers: { wiki: { command: x } }\n');
  folder.write(
    'a.yaml',
    'apiVersion: a/v1\nkind: Agent\nmetadata: { name: a }\nspec: { model: "google:m", mcp_servers: [wik] }\n',
  );
  folder.write('gateway.yaml', `${head}spec: { triggers: { directory: . } }\n`);
  const env = { GEMINI_API_KEY: 'the-usual-key', GROQ_API_KEY: 'of-nobody-here' };
  const { loaded } = await folder.load(env);
  if (loaded === undefined) throw new Error('the gateway file is good');
  const secrets = new SecretValues();
  const servers = Object.keys(loaded.catalog.servers);
  const { problems } = await loadGatewayResources(loaded.config, env, secrets, servers);
  expect(secrets.list()).toEqual(expect.arrayContaining(['the-usual-key', 'of-nobody-here']));
  const told = problems.map(({ message }) => message);
  expect(told).toContain('spec.mcp_servers[0]: there is no server wik in the catalog; did you mean wiki?');
  expect(told.join()).not.toContain('the-usual-key');
});

describe('providers and prices of the gateway file', () => {
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

  test('stand in it in every form, in spec too', async () => {
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
  ])('cannot be %s', async (text, problem) => {
    const { lines } = await folder.loadGateway(head + text);
    expect(lines.map((line) => line.replace(/^[^ ]* /, ''))).toEqual([problem]);
  });

  test('do not stand in two places, and no message shows a key', async () => {
    const { lines } = await folder.loadGateway(
      'http_port: 0\nproviders: {}\nspec: { providers: { a: { api_key: [k-secret] } } }\n',
    );
    expect(lines).toEqual([
      'gateway.yaml:3:9: spec.providers: is there twice: providers stands beside spec too',
    ]);
    const wrong = await folder.loadGateway(`${head}providers: { a: { api_key: "two\\nlines-of-a-key" } }`);
    expect(wrong.lines.join()).toMatch(/providers\.a\.api_key: expected printable ASCII/);
    expect(wrong.lines.join()).not.toContain('lines-of-a-key');
  });
});
