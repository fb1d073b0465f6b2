// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Warnings about secrets that cannot be redacted, with field and position.

import { describe, expect, test } from 'vitest';
import { triggerTypes, typeNames } from '../../../../config/resources/triggers/trigger-types.ts';
import { ConfigFolder } from '../config-folder.ts';
import { ResourceFolder } from '../resources/resource-folder.ts';

const folder = new ConfigFolder();
const resources = new ResourceFolder();

const isShort = 'is shorter than 8 characters and cannot be redacted in logs and errors';
const isPlain = 'is a plain word, number or path and cannot be redacted in logs and errors';
const isOpen = 'is a URL without an opaque part and cannot be redacted in logs and errors';
const minimal = 'listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\n';

interface Field {
  readonly writeOnly?: boolean;
  readonly pattern?: string;
  readonly items?: Field;
}

const secretFields = typeNames.flatMap((type) =>
  Object.entries(triggerTypes[type].config.properties as Record<string, Field>).flatMap(([field, schema]) => {
    if (schema.writeOnly === true) return [{ type, field, value: 't' }];
    return schema.items?.writeOnly === true ? [{ type, field, value: '[t]' }] : [];
  }),
);

describe('a warning about an unredactable secret', () => {
  test('is tested for more than 15 secret fields of triggers', () => {
    expect(secretFields.length).toBeGreaterThan(15);
  });

  test.each(secretFields)('names $field of $type', async ({ type, field, value }) => {
    const { lines } = await resources.loadConfig(type, `${field}: ${value}`);
    const at = new RegExp(
      `^t\\.yaml:6:\\d+: (?:warning: )?spec\\.config\\.${field}(?:\\[0\\])?: (?:${isShort}|expected )`,
    );
    expect(lines.filter((line) => at.test(line))).toHaveLength(1);
  });

  test('contains the field as written, with the position of its value', async () => {
    const { lines } = await resources.loadConfig(
      'RepoHost',
      'webhook_secret: "0123456789abcdef", token: "${T}"',
      {
        env: { T: 't' },
      },
    );
    expect(lines.filter((line) => line.includes('token'))).toEqual([
      `t.yaml:6:56: warning: spec.config.token: ${isShort}`,
    ]);
  });

  test('covers keys of the gateway and of providers, with the reason', async () => {
    const text = `${minimal}api_key: abc\nproviders: { openai: { api_key: production }, mine: { base_url: "http://h/v1", api_key: 12345678x } }\n`;
    folder.write('catalog.yaml', 'servers: {}\n');
    const { lines, loaded } = await folder.loadGateway(text);
    expect(lines).toEqual([
      `gateway.yaml:3:10: warning: api_key: ${isShort}`,
      `gateway.yaml:4:33: warning: providers.openai.api_key: ${isPlain}`,
    ]);
    expect(loaded?.secrets).toEqual(['12345678x']);
  });

  test("covers variables and headers of servers with a credential name, at the value's position", async () => {
    const catalog = `servers:
  a:
    command: x
    env:
      DB_PASS: hunter2
      ADMIN_PASSWORD: "\${WORD}"
      TOKEN: 12345678x
      FREE: "\${API_KEY}"
      KEY: /run/secrets/key
      SENTRY_DSN: https://sentry.example.com/1
      EMPTY_TOKEN: ""
      MODE: x
  b:
    url: https://h.example
    headers: { Authorization: Bearer abc, X-Key: "12345678", X-Mode: t }
`;
    const { lines } = await folder.loadCatalog(catalog, { WORD: 'swordfish', API_KEY: 'secret' });
    expect(lines).toEqual([
      `catalog.yaml:5:16: warning: servers.a.env.DB_PASS: ${isShort}`,
      `catalog.yaml:6:23: warning: servers.a.env.ADMIN_PASSWORD: ${isPlain}`,
      `catalog.yaml:8:13: warning: servers.a.env.FREE: ${isShort}`,
      `catalog.yaml:9:12: warning: servers.a.env.KEY: ${isPlain}`,
      `catalog.yaml:10:19: warning: servers.a.env.SENTRY_DSN: ${isOpen}`,
      `catalog.yaml:15:31: warning: servers.b.headers.Authorization: ${isShort}`,
      `catalog.yaml:15:50: warning: servers.b.headers.X-Key: ${isPlain}`,
    ]);
  });

  test('never contains the secret value', async () => {
    const values = ['hunter2', 'swordfish', '/run/secrets/key', 'https://hush.example'];
    for (const value of values) {
      const { lines } = await folder.loadCatalog('servers: { a: { command: x, env: { TOKEN: "${T}" } } }\n', {
        T: value,
      });
      expect(lines).toHaveLength(1);
      expect(lines[0]).not.toContain(value);
    }
  });

  test('appears at most 51 times per file, and the last warning mentions that others are omitted', async () => {
    const variables = Array.from({ length: 70 }, (_, index) => `TOKEN_${index}: t`);
    const { lines } = await folder.loadCatalog(
      `servers: { a: { command: x, env: { ${variables.join(', ')} } } }\n`,
    );
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toMatch(/TOKEN_50: .*; warnings for later secrets in this file are omitted$/);
    expect(lines.filter((line) => line.includes('omitted'))).toHaveLength(1);
  });

  test('covers neither ordinary variables nor database URLs without a password', async () => {
    const catalog = 'servers:\n  a: { command: x, env: { MODE: x, MAX_TOKENS: 1k, TOKEN_FILE: /run/t } }\n';
    expect((await folder.loadCatalog(catalog)).lines).toEqual([]);
    const store = 'store: { postgres: { url: "postgres://db.example.com/x" } }\n';
    expect((await folder.loadGateway(`${minimal}${store}`)).lines).toEqual([]);
  });
});
