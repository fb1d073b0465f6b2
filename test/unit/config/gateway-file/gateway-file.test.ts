// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const minimal = 'listen_addr: 127.0.0.1:8080\ncatalog_path: catalog.yaml\n';

describe('the gateway file', () => {
  test('gets every documented default if it has only the two required fields', async () => {
    const { loaded, lines } = await folder.loadGateway(minimal);
    expect(lines).toEqual([]);
    expect(loaded?.config).toEqual({
      listen_addr: '127.0.0.1:8080',
      catalog_path: join(folder.path, 'catalog.yaml'),
      api_key: '',
      auth: {},
      log_level: 'info',
      state_dir: join(folder.path, '.gateway'),
      store: {},
      node: {},
      allowed_hosts: [],
      allowed_origins: [],
      limits: {
        body_bytes: 16_777_216,
        message_bytes: 16_777_216,
        in_flight: 1024,
        model_calls: 256,
        flow_nodes: 512,
        sessions: 10_000,
        session_idle_seconds: 1800,
      },
      list_timeout_seconds: 25,
      shutdown_seconds: 10,
      expose: 'all',
      profiles: {},
      inspector: { commands: false, stately: false, insecure: false },
      history: { enabled: true, max_mb: 128 },
      spec: { triggers: { watch: false }, agents: {}, fleets: {}, flows: {}, runtime: {}, server: {} },
      registry_url: 'https://registry.modelcontextprotocol.io',
      platforms: {},
      providers: {},
      prices: {},
      deliveries: {
        retention_days: 7,
        remember_days: 30,
        max_waiting: 100_000,
        max_parked: 300_000,
        concurrency: 256,
      },
    });
    expect(loaded?.configPath).toBe(join(folder.path, 'gateway.yaml'));
    expect(loaded?.catalogPath).toBe(join(folder.path, 'catalog.yaml'));
    expect(loaded?.secrets).toEqual([]);
  });

  test('accepts every field', async () => {
    const { loaded, lines } = await folder.loadGateway(`${minimal}
api_key: k3y-of-the-gateway
log_level: debug
state_dir: /var/lib/gateway
allowed_hosts: [Gateway.Example, "10.0.0.1:8080", "[::1]:8080"]
allowed_origins: ["HTTPS://App.Example:443", "http://localhost:3000", "app-webview://Panel"]
limits: { body_bytes: 2048, message_bytes: 4096, in_flight: 2, sessions: 3, session_idle_seconds: 0.5 }
list_timeout_seconds: 0
shutdown_seconds: 0
expose: search
inspector: { enabled: false }
history: { enabled: false, max_mb: 1 }
`);
    expect(lines).toEqual([]);
    expect(loaded?.config).toMatchObject({
      api_key: 'k3y-of-the-gateway',
      log_level: 'debug',
      state_dir: '/var/lib/gateway',
      allowed_hosts: ['gateway.example', '10.0.0.1:8080', '[::1]:8080'],
      allowed_origins: ['https://app.example', 'http://localhost:3000', 'app-webview://panel'],
      limits: { body_bytes: 2048, message_bytes: 4096, in_flight: 2, sessions: 3, session_idle_seconds: 0.5 },
      list_timeout_seconds: 0,
      shutdown_seconds: 0,
      expose: 'search',
      inspector: { enabled: false, commands: false, stately: false, insecure: false },
      history: { enabled: false, max_mb: 1 },
    });
    expect(loaded?.secrets).toEqual(['k3y-of-the-gateway']);
  });

  test('reports both missing required fields at its start', async () => {
    const { lines } = await folder.loadGateway('log_level: info\n');
    expect(lines).toEqual([
      'gateway.yaml:1:1: listen_addr: required, but missing',
      'gateway.yaml:1:1: catalog_path: required, but missing',
    ]);
  });

  test.each([
    ['limits: { body_byte: 1 }', '3:11: limits.body_byte: unknown key; did you mean body_bytes?'],
    ['apikey: x', '3:1: apikey: unknown key; did you mean api_key?'],
    ['logLevel: info', '3:1: logLevel: unknown key; did you mean log_level?'],
    ['shutdown: 3', '3:1: shutdown: unknown key; did you mean shutdown_seconds?'],
    ['zebra: 1', '3:1: zebra: unknown key'],
    ['toString: 1', '3:1: toString: unknown key'],
    ['__proto__: {}', '3:1: __proto__: unknown key'],
    ['<<: { log_level: info }', '3:1: ["<<"]: unknown key'],
    [
      'log_level: loud',
      '3:12: log_level: expected one of fatal, error, warn, info, debug, trace, silent, found "loud"',
    ],
    [
      'shutdown_seconds: 5m',
      '3:19: shutdown_seconds: expected a number >= 0, found "5m"; the field name contains the unit; write shutdown_seconds: 300',
    ],
    ['shutdown_seconds: "5"', '3:19: shutdown_seconds: expected a number >= 0, found "5"'],
    ['shutdown_seconds: -1', '3:19: shutdown_seconds: expected a number >= 0, found -1'],
    ['shutdown_seconds: .inf', '3:19: shutdown_seconds: expected a number <= 2147483, found Infinity'],
    ['shutdown_seconds: .nan', '3:19: shutdown_seconds: expected a number >= 0, found NaN'],
    ['shutdown_seconds: 9e9', '3:19: shutdown_seconds: expected a number <= 2147483, found 9000000000'],
    ['shutdown_seconds:', '3:18: shutdown_seconds: expected a number >= 0, found nothing'],
    ['shutdown_seconds: [1]', '3:19: shutdown_seconds: expected a number >= 0, found a list'],
    [
      'limits: { session_idle_seconds: 0 }',
      '3:33: limits.session_idle_seconds: expected a number > 0, found 0',
    ],
    ['limits: { in_flight: 1.5 }', '3:22: limits.in_flight: expected a whole number >= 1, found 1.5'],
    [
      'limits: { in_flight: 1e12 }',
      '3:22: limits.in_flight: expected a whole number <= 1000000, found 1000000000000',
    ],
    ['limits: { body_bytes: 10 }', '3:23: limits.body_bytes: expected a whole number >= 1024, found 10'],
    [
      'limits: []',
      '3:9: limits: expected a mapping (key: value), found a list; write limits: { body_bytes: 16777216 }',
    ],
    [
      'inspector: true',
      '3:12: inspector: expected a mapping (key: value), found true or false; write inspector: { enabled: true }',
    ],
    ['inspector: { enabled: yes }', '3:23: inspector.enabled: expected true or false, found "yes"'],
    ['allowed_hosts: a', '3:16: allowed_hosts: expected a list, found text'],
    ['allowed_hosts: [a, 5]', '3:20: allowed_hosts[1]: expected text, found 5; put it in quotes'],
    [
      'allowed_hosts: ["*"]',
      '3:17: allowed_hosts[0]: expected a host name or address, with or without :port, found "*"',
    ],
    [
      'allowed_origins: [https://a.example/]',
      '3:19: allowed_origins[0]: expected an origin such as https://app.example.com, without path or wildcard, found "https://a.example/"',
    ],
    ['state_dir: ""', '3:12: state_dir: expected non-empty text, found empty text'],
    ['state_dir: "a\\0b"', '3:12: state_dir: expected a path, found "a\\u0000b"'],
    [
      'auth: { jwt: { issuer: "https://id.example", audience: gateway } }',
      '3:14: auth.jwt: needs an api_key: without it, authentication is off',
    ],
    [
      'auth: { jwt: { issuer: acme, audience: gateway } }\napi_key: the-key-of-it',
      '3:24: auth.jwt.issuer: is not an address, so its keys cannot be found; set jwks_url',
    ],
    [
      'auth: { jwt: { issuer: acme, audience: gateway, jwks_url: "http://keys.example/" } }\napi_key: the-key-of-it',
      '3:59: auth.jwt.jwks_url: is not https',
    ],
    [
      'auth: { jwt: { issuer: "https://id.example" } }\napi_key: the-key-of-it',
      '3:14: auth.jwt.audience: required, but missing',
    ],
    ['api_key: 12345678', '3:10: api_key: expected text, found a number; put it in quotes'],
  ])('refuses %s', async (line, problem) => {
    const { lines } = await folder.loadGateway(`${minimal}${line}\n`);
    expect(lines).toEqual([`gateway.yaml:${problem}`]);
  });

  test.each([
    ['8080', 'expected host:port, such as 127.0.0.1:8080 or [::1]:8080, found 8080'],
    ['":8080"', 'expected host:port, such as 127.0.0.1:8080 or [::1]:8080, found ":8080"'],
    ['localhost', 'expected host:port, such as 127.0.0.1:8080 or [::1]:8080, found "localhost"'],
    ['::1:8080', 'expected host:port, such as 127.0.0.1:8080 or [::1]:8080, found "::1:8080"'],
    ['"[::zz]:80"', 'expected host:port, such as 127.0.0.1:8080 or [::1]:8080, found "[::zz]:80"'],
    ['"[1:2]:80"', 'expected an IPv6 address inside [ ]'],
    ['127.0.0.1:65536', 'expected a port from 0 to 65535'],
    ['999.0.0.1:80', 'expected a host name or an IP address before the colon'],
  ])('refuses the listen address %s', async (address, problem) => {
    const { lines } = await folder.loadGateway(`catalog_path: catalog.yaml\nlisten_addr: ${address}\n`);
    expect(lines).toEqual([`gateway.yaml:2:14: listen_addr: ${problem}`]);
  });

  test('never shows a refused api_key', async () => {
    const { lines } = await folder.loadGateway(`${minimal}api_key: "hush-hush "\n`);
    expect(lines).toEqual([
      'gateway.yaml:3:10: api_key: expected printable ASCII characters without spaces or line breaks at either end, found text',
    ]);
    const fromVariable = await folder.loadGateway(`${minimal}api_key: \${KEY}\n`, { KEY: 'hush-hush\n' });
    expect(fromVariable.lines).toEqual([
      'gateway.yaml:3:10: api_key: expected printable ASCII characters without spaces or line breaks at either end, found something else in ${KEY}',
    ]);
  });

  test('refuses an api_key whose variable is empty', async () => {
    const { loaded, lines } = await folder.loadGateway(`${minimal}api_key: \${KEY}\n`, { KEY: '' });
    expect(loaded).toBeUndefined();
    expect(lines).toEqual([
      'gateway.yaml:3:10: api_key: is empty because its variable is empty; set the variable, or remove api_key to disable authentication',
    ]);
  });

  test.each(['$KEY', '$key_2', '%KEY%', '$env:KEY', '$(cat key)', '`cat key`', 'Bearer $KEY', '~', '~/key'])(
    'refuses the key %s, which is shell syntax',
    async (key) => {
      const { loaded, lines } = await folder.loadGateway(`${minimal}api_key: "${key}"\n`, {
        KEY: 'hush-hush',
      });
      expect(loaded).toBeUndefined();
      expect(lines.filter((line) => !line.includes(': warning: '))).toEqual([
        expect.stringMatching(/^gateway\.yaml:3:10: api_key: is shell syntax.*; write \$\{NAME\} /),
      ]);
      const loadedGateway = await folder.loadGateway(`${minimal}api_key: \${KEY}\n`, { KEY: key });
      expect(loadedGateway.loaded?.config.api_key).toBe(key);
    },
  );

  test.each(['servers', 'mcpServers'])('reports that %s belong in the catalog', async (key) => {
    const { lines } = await folder.loadGateway(`${minimal}${key}:\n  a: { command: node }\n`);
    expect(lines).toEqual([
      `gateway.yaml:3:1: ${key}: belongs in the catalog, the file named by catalog_path of the gateway file`,
    ]);
  });

  test.each([
    ['Trigger', 'triggers'],
    ['Agent', 'agents'],
  ])(
    'that contains a %s resource is reported only with the setting for the folder of such files',
    async (kind, folders) => {
      const { lines } = await folder.loadGateway(
        `apiVersion: a/v1\nkind: ${kind}\nmetadata: { name: a }\nspec: { type: Manual, model: "x:y" }\n`,
      );
      expect(lines).toEqual([
        `gateway.yaml:2:7: kind: ${kind} files belong in the folder named by spec.${folders}.directory of the gateway file`,
      ]);
    },
  );

  test('warns that an empty api_key disables authentication', async () => {
    const { loaded, lines } = await folder.loadGateway(`${minimal}api_key: ""\n`);
    expect(loaded?.config.api_key).toBe('');
    expect(lines).toEqual([
      'gateway.yaml:3:10: warning: api_key: is empty, so authentication is off; remove it if this is intended',
    ]);
  });

  test('accepts an api_key with an empty default without a warning', async () => {
    const { loaded, lines } = await folder.loadGateway(`${minimal}api_key: \${KEY:-}\n`);
    expect(loaded?.config.api_key).toBe('');
    expect(lines).toEqual([]);
  });

  test('may be JSON', async () => {
    folder.write('catalog.yaml', 'servers: {}');
    folder.write('gateway.json', '{\n\t"listen_addr": "[::1]:0",\n\t"catalog_path": "catalog.yaml"\n}');
    const { loaded } = await folder.load({}, 'gateway.json');
    expect(loaded?.config.listen_addr).toBe('[::1]:0');
  });
});
