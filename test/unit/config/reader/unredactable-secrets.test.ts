// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests write references.
// Warnings about secrets that cannot be redacted: each names the field and its position.

import { afterAll, describe, expect, test } from 'vitest';
import { triggerTypes, typeNames } from '../../../../config/resources/triggers/trigger-types.ts';
import { ConfigFolder } from '../config-folder.ts';
import { ResourceFolder } from '../resources/resource-folder.ts';

const folder = new ConfigFolder();
const resources = new ResourceFolder();
afterAll(() => folder.remove());
afterAll(() => resources.remove());

const isShort = 'is shorter than 8 characters: it is not struck out of logs and errors';
const isPlain = 'is a plain word, number, path or host: it is not struck out of logs and errors';
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

describe('a warning', () => {
  test('is expected of many fields', () => {
    expect(secretFields.length).toBeGreaterThan(15);
  });

  test.each(secretFields)('names $field of $type', async ({ type, field, value }) => {
    const { lines } = await resources.loadConfig(type, `${field}: ${value}`);
    const at = new RegExp(
      `^t\\.yaml:6:\\d+: (?:warning: )?spec\\.config\\.${field}(?:\\[0\\])?: (?:${isShort}|expected )`,
    );
    expect(lines.filter((line) => at.test(line))).toHaveLength(1);
  });

  test('names the field as it is written, with the place of its value', async () => {
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

  test('names keys of the gateway and of providers, and gives the reason', async () => {
    const text = `${minimal}api_key: abc\nproviders: { openai: { api_key: production }, mine: { base_url: "http://h/v1", api_key: 12345678x } }\n`;
    folder.write('catalog.yaml', 'servers: {}\n');
    const { lines, loaded } = await folder.loadGateway(text);
    expect(lines).toEqual([
      `gateway.yaml:3:10: warning: api_key: ${isShort}`,
      `gateway.yaml:4:33: warning: providers.openai.api_key: ${isPlain}`,
    ]);
    expect(loaded?.secrets).toEqual(['12345678x']);
  });

  test('names no field of a server, and no address of a database without a password', async () => {
    const catalog =
      'servers:\n  a: { command: x, env: { API_TOKEN: t, MODE: x } }\n  b: { url: https://h.example, headers: { X-Key: t } }\n';
    expect((await folder.loadCatalog(catalog)).lines).toEqual([]);
    const store = 'store: { postgres: { url: "postgres://db.example.com/x" } }\n';
    expect((await folder.loadGateway(`${minimal}${store}`)).lines).toEqual([]);
  });
});
