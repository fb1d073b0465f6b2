// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../../config/json-schemas.ts';

const gateway = { listen_addr: '127.0.0.1:1', catalog_path: 'c' };
const server = (entry: object) => ({ servers: { a: entry } });

describe('the JSON Schema', () => {
  test('says its dialect and no $id', () => {
    for (const schema of Object.values(jsonSchemas)) {
      expect(schema).toHaveProperty('$schema', 'https://json-schema.org/draft/2020-12/schema');
      expect(schema).not.toHaveProperty('$id');
      expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    }
  });

  test('describes every field and gives its default', () => {
    const walk = (schema: Record<string, unknown>, path: string): string[] =>
      Object.entries((schema.properties ?? {}) as Record<string, Record<string, unknown>>).flatMap(
        ([key, field]) => [
          ...(field.description === undefined ? [`${path}${key}`] : []),
          ...walk(field, `${path}${key}.`),
        ],
      );
    expect(walk(jsonSchemas.gateway as Record<string, unknown>, '')).toEqual([]);
    expect(jsonSchemas.gateway).toMatchObject({
      required: ['listen_addr', 'catalog_path'],
      properties: {
        shutdown_seconds: { default: 10 },
        limits: { properties: { in_flight: { default: 1024 } } },
      },
    });
    const catalog = jsonSchemas.catalog as {
      properties: { servers: { additionalProperties: Record<string, unknown> } };
    };
    expect(walk(catalog.properties.servers.additionalProperties, '')).toEqual([]);
  });

  test.each([
    [gateway, true],
    [{ ...gateway, shutdown_seconds: '${S}', log_level: '${L}', inspector: { enabled: '${B:-true}' } }, true],
    [{ ...gateway, listen_addr: '${HOST}:${PORT}', limits: { in_flight: '${N}' } }, true],
    [{ ...gateway, shutdown_seconds: '5' }, false],
    [{ ...gateway, shutdown_seconds: -1 }, false],
    [{ ...gateway, zebra: 1 }, false],
    [{ ...gateway, limits: { zebra: 1 } }, false],
    [{ listen_addr: '127.0.0.1:1' }, false],
  ])('of the gateway file judges %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.gateway, value)).toBe(isGood);
  });

  test.each([
    [{ servers: {} }, true],
    [{ mcpServers: {}, other: 1 }, true],
    [{}, false],
    [{ servers: {}, other: 1 }, false],
    [{ servers: {}, mcpServers: {} }, false],
    [server({ command: 'x', pool: { max: 3 }, enabled: '${E}', inherit_env: true }), true],
    [server({ url: 'http://a', runtime: 'sse', headers: { A: 'b' } }), true],
    [server({}), false],
    [server({ command: 'x', url: 'http://a' }), false],
    [server({ command: 'x', headers: {} }), false],
    [server({ command: 'x', runtime: 'http' }), false],
    [server({ url: 'http://a', args: [] }), false],
    [server({ command: 'x', zebra: 1 }), false],
    [server({ command: 'x', type: 'stdio' }), false],
    [{ servers: { 'a b': { command: 'x' } } }, false],
    [{ servers: { '..': { command: 'x' } } }, false],
    [{ mcpServers: { 'a b': { command: 'x', type: 'stdio', zebra: 1 } } }, true],
    [{ mcpServers: { a: { url: 'http://a', args: [], disabled: true } } }, true],
    [{ mcpServers: { a: { command: 'x', disabled: 'no' } } }, false],
  ])('of the catalog judges %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.catalog, value)).toBe(isGood);
  });
});
