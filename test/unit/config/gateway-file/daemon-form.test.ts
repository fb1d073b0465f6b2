// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// A gateway file in the form of a resource (kind DaemonConfig), which needs no catalog of servers.

import { join } from 'node:path';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../../../config/json-schema/json-schemas.ts';
import { ConfigFolder } from '../config-folder.ts';

const folder = new ConfigFolder();

const daemonConfig = `apiVersion: example.com/v1
kind: DaemonConfig
metadata: { name: bots, labels: { tier: gold } }
spec:
  triggers: { directory: ./triggers, watch: true }
  agents: { directory: ./agents }
  runtime: { default_agent: helper }
`;

describe('a gateway file in resource form (kind DaemonConfig)', () => {
  test('is valid without a catalog of servers, and gets all defaults', async () => {
    const { loaded, lines } = await folder.loadGateway(daemonConfig);
    expect(lines).toEqual([]);
    expect(loaded).toMatchObject({
      catalog: { servers: {} },
      catalogPath: '',
      config: {
        listen_addr: '127.0.0.1:8080',
        catalog_path: '',
        spec: {
          triggers: { directory: join(folder.path, 'triggers'), watch: true },
          agents: { directory: join(folder.path, 'agents') },
          runtime: { default_agent: 'helper' },
        },
        deliveries: { retention_days: 7, max_waiting: 100_000, max_parked: 300_000, concurrency: 256 },
      },
    });
    expect(Check(jsonSchemas.gateway, { kind: 'DaemonConfig', spec: {} })).toBe(true);
  });

  test('may also have the fields of a gateway file', async () => {
    const { loaded, lines } = await folder.loadGateway(
      `listen_addr: 127.0.0.1:9\ncatalog_path: catalog.yaml\n${daemonConfig}deliveries: { retention_days: 0.5, max_waiting: 10, concurrency: 2 }\n`,
    );
    expect(lines).toEqual([]);
    expect(loaded?.config).toMatchObject({
      listen_addr: '127.0.0.1:9',
      catalog_path: join(folder.path, 'catalog.yaml'),
      deliveries: { retention_days: 0.5, max_waiting: 10, max_parked: 300_000, concurrency: 2 },
    });
  });

  test('with a catalog path reports a missing catalog', async () => {
    const { lines } = await folder.loadGateway(`catalog_path: gone.yaml\n${daemonConfig}`);
    expect(lines).toEqual([
      expect.stringMatching(/^gateway\.yaml:1:15: catalog_path: .*gone\.yaml: the file does not exist$/),
    ]);
  });

  test('is the only form that may have neither a listen address nor a catalog', async () => {
    const { lines } = await folder.loadGateway('log_level: info\n');
    expect(lines).toEqual([
      'gateway.yaml:1:1: listen_addr: required, but missing',
      'gateway.yaml:1:1: catalog_path: required, but missing',
    ]);
    expect(Check(jsonSchemas.gateway, { log_level: 'info' })).toBe(false);
  });

  test.each([
    ['http_port: 9001', '127.0.0.1:9001'],
    ['http_port: ${PORT}', '127.0.0.1:9002'],
    ['spec: { server: { port: 9001 } }', '127.0.0.1:9001'],
    ['spec: { server: { host: 0.0.0.0 } }', '0.0.0.0:8080'],
    ['spec: { server: { host: "::1", port: 0 } }', '[::1]:0'],
    ['spec: { server: { host: localhost } }\nhttp_port: 9001', 'localhost:9001'],
    [
      'listen_addr: 127.0.0.1:9001\nspec: { server: { host: 127.0.0.1, port: 9001 } }\nhttp_port: 9001',
      '127.0.0.1:9001',
    ],
    ['platforms: {}', '127.0.0.1:8080'],
  ])('with %j has the listen address %s', async (yaml, expected) => {
    const { loaded, lines } = await folder.loadGateway(yaml, { PORT: '9002' });
    expect(lines).toEqual([]);
    expect(loaded?.config.listen_addr).toBe(expected);
  });

  test.each([
    [
      'listen_addr: 127.0.0.1:1\nhttp_port: 2',
      ['2:12: http_port: contradicts listen_addr, which is 127.0.0.1:1'],
    ],
    [
      'listen_addr: 127.0.0.1:1\nspec: { server: { port: 2, host: 0.0.0.0 } }',
      [
        '2:25: spec.server.port: contradicts listen_addr, which is 127.0.0.1:1',
        '2:34: spec.server.host: contradicts listen_addr, which is 127.0.0.1:1',
      ],
    ],
    [
      'http_port: 1\nspec: { server: { port: 2 } }',
      ['1:12: http_port: contradicts spec.server.port, which is 2'],
    ],
    [
      'spec: { server: { host: "a b" } }',
      ['1:25: spec.server.host: expected a host name or an IP address before the colon'],
    ],
    [
      'spec: { server: { port: 70000 } }',
      ['1:25: spec.server.port: expected a whole number <= 65535, found 70000'],
    ],
    [
      'spec: { triggers: { directry: x } }',
      ['1:21: spec.triggers.directry: unknown key; did you mean directory?'],
    ],
    ['spec: { zebra: 1 }', ['1:9: spec.zebra: unknown key']],
    ['metadata: { nam: x }\nspec: {}', ['1:13: metadata.nam: unknown key; did you mean name?']],
    ['listen_addr: nowhere\nspec: {}', [expect.stringMatching(/^1:14: listen_addr: expected host:port/)]],
    [
      'deliveries: { retention_days: 0 }\nspec: {}',
      ['1:31: deliveries.retention_days: expected a number > 0, found 0'],
    ],
  ])('is rejected: %j', async (yaml, expected) => {
    const { loaded, lines } = await folder.loadGateway(yaml);
    expect(loaded).toBeUndefined();
    expect(lines.map((line) => line.replace('gateway.yaml:', ''))).toEqual(expected);
  });

  test('needs an API key for an inspector that listens beyond loopback', async () => {
    const { lines } = await folder.loadGateway(
      'spec: { server: { host: 0.0.0.0 } }\ninspector: { enabled: true }\n',
    );
    expect(lines).toEqual([expect.stringContaining('inspector.enabled: needs an api_key')]);
  });
});

describe('the platforms of a gateway file', () => {
  const env = { TOKEN: 'a-token-of-it', PLACE: 'x' };

  test('have exactly the fields of the file after loading', async () => {
    const { loaded, lines } = await folder.loadGateway(
      `platforms:
  repohost: { enabled: false, webhook_path: /hooks/repos, webhook_secret: "\${TOKEN}" }
  schedule: { timezone: Europe/Berlin }
`,
      env,
    );
    expect(lines).toEqual([]);
    const { repohost, schedule, http } = loaded?.config.platforms ?? {};
    const plain = (platform: object | undefined) => JSON.parse(JSON.stringify(platform ?? null));
    expect(plain(repohost)).toEqual({
      enabled: false,
      webhook_path: '/hooks/repos',
      webhook_secret: 'a-token-of-it',
    });
    expect(plain(schedule)).toEqual({ timezone: 'Europe/Berlin' });
    expect(http).toBeUndefined();
    expect(loaded?.secrets).toContain('a-token-of-it');
  });

  test('may be below spec, with vendor names as keys and with references to variables', async () => {
    const { loaded, lines } = await folder.loadGateway(
      `spec:
  platforms:
    GitHub: { webhook_secret_env: TOKEN, github_events: [push] }
    whatsapp:
      phone_number_id_env: TOKEN
      access_token_env: TOKEN
      verify_token_env: TOKEN
      app_secret_env: TOKEN
      api_version: v18.0
      allowed_numbers: ["+4912345678"]
    ms-teams: { app_id: a, verify_tokens: true, allowed_tenants: [t] }
`,
      env,
    );
    expect(lines).toEqual([]);
    expect(loaded?.config.platforms).toMatchObject({
      repohost: { webhook_secret: 'a-token-of-it', repo_events: ['push'] },
      businessmessenger: {
        phone_number_id: 'a-token-of-it',
        bot_token: 'a-token-of-it',
        verify_token: 'a-token-of-it',
        app_secret: 'a-token-of-it',
      },
      teamchat: { app_id: 'a', verify_tokens: true },
    });
  });

  test.each([
    ['platforms: { zebra: {} }', ['1:14: platforms.zebra: unknown key']],
    [
      'platforms: { whatsapp: { acces_token_env: TOKEN } }',
      ['1:26: platforms.businessmessenger.acces_token_env: unknown key; did you mean access_token_env?'],
    ],
    ['platforms: { repohos: {} }', ['1:14: platforms.repohos: unknown key; did you mean repohost?']],
    [
      'platforms: { github: {}, repohost: {} }',
      ['1:14: platforms.github: means repohost, which is also present'],
    ],
    [
      'platforms: { github: { tokn: x } }',
      ['1:24: platforms.repohost.tokn: unknown key; did you mean token?'],
    ],
    [
      'platforms: { http: { port: x } }',
      ['1:28: platforms.http.port: expected a whole number >= 0, found "x"'],
    ],
    [
      'platforms: { repohost: { insecure_allow_unverified: true } }',
      ['1:26: platforms.repohost.insecure_allow_unverified: unknown key'],
    ],
    [
      'platforms: { repohost: { token_env: GONE } }',
      ['1:37: platforms.repohost.token: the environment variable GONE is not set; set it'],
    ],
    [
      'platforms: { repohost: { token_env: "a b" } }',
      ['1:37: platforms.repohost.token_env: expected the name of an environment variable'],
    ],
    [
      'platforms: { repohost: { token_env: TOKEN, token: x } }',
      ['1:26: platforms.repohost.token_env: means token, which is also present'],
    ],
  ])('are rejected: %j', async (yaml, expected) => {
    const { loaded, lines } = await folder.loadGateway(yaml, env);
    expect(loaded).toBeUndefined();
    const errors = lines.filter((line) => !line.includes(': warning: '));
    expect(errors.map((line) => line.replace('gateway.yaml:', ''))).toEqual(expected);
  });
});
