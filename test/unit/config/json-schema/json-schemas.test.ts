// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../../../config/json-schema/json-schemas.ts';

const gateway = { listen_addr: '127.0.0.1:1', catalog_path: 'c' };
const server = (entry: object) => ({ servers: { a: entry } });

describe('the JSON Schema', () => {
  test('has a dialect and no $id', () => {
    for (const schema of Object.values(jsonSchemas)) {
      expect(schema).toHaveProperty('$schema', 'https://json-schema.org/draft/2020-12/schema');
      expect(schema).not.toHaveProperty('$id');
      expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    }
  });

  test('describes every field, and contains the defaults', () => {
    const walk = (schema: Record<string, unknown>, path: string): string[] =>
      Object.entries((schema.properties ?? {}) as Record<string, Record<string, unknown>>).flatMap(
        ([key, field]) => [
          ...(field.description === undefined ? [`${path}${key}`] : []),
          ...walk(field, `${path}${key}.`),
        ],
      );
    expect(walk(jsonSchemas.gateway as Record<string, unknown>, '')).toEqual([]);
    expect(jsonSchemas.gateway).toMatchObject({
      else: { required: ['listen_addr', 'catalog_path'] },
      properties: {
        shutdown_seconds: { default: 10 },
        limits: { properties: { in_flight: { default: 1024 } } },
      },
    });
    const catalog = jsonSchemas.catalog as {
      properties: { servers: { additionalProperties: Record<string, unknown> } };
    };
    expect(walk(catalog.properties.servers.additionalProperties, '')).toEqual([]);
    expect(walk(jsonSchemas.agent as Record<string, unknown>, '')).toEqual([]);
    expect(walk(jsonSchemas.fleet as Record<string, unknown>, '')).toEqual([]);
    const { nodes, connections } = (jsonSchemas.flow as { $defs: Record<string, { items: object }> }).$defs;
    const node = nodes?.items as { properties: Record<string, unknown>; allOf: { then: object }[] };
    // `config` itself has no description, but its fields have.
    for (const each of [node, connections?.items, ...node.allOf.map(({ then }) => then)])
      expect(walk(each as Record<string, unknown>, '').filter((key) => key !== 'config')).toEqual([]);
    const { spec } = (
      jsonSchemas.trigger as { else: { properties: { spec: { allOf: { then: object }[] } } } }
    ).else.properties;
    expect(walk(spec as unknown as Record<string, unknown>, '')).toEqual([]);
    expect(spec.allOf).toHaveLength(13);
    for (const { then } of spec.allOf) {
      const { config } = (then as { properties: { config: Record<string, unknown> } }).properties;
      expect(walk(config, '')).toEqual([]);
    }
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
  ])('of the gateway file accepts %j: %s', (value, isGood) => {
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
  ])('of the catalog accepts %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.catalog, value)).toBe(isGood);
  });

  const trigger = (spec: object) => ({ apiVersion: 'a/v1', kind: 'Trigger', metadata: { name: 't' }, spec });

  test.each([
    [trigger({ type: 'HTTP', config: { webhook_secret: '${S}', methods: ['POST'] } }), true],
    [trigger({ type: 'Webhook', config: { port: '${P}' }, enabled: '${E}' }), true],
    [
      trigger({ type: 'GitHub', config: { github_events: ['push'] }, commands: { push: { agent: 'a' } } }),
      true,
    ],
    [
      trigger({ type: 'WhatsApp', config: { access_token: 'a', phone_number_id: '1', verify_token: 'v' } }),
      true,
    ],
    [trigger({ type: 'Schedule', config: { cron: '* * * * *' } }), true],
    [trigger({ platform: 'whatsapp', webhook: { path: '/a' }, routing: { default_agent: 'a' } }), true],
    [trigger({ type: 'Schedule', config: {} }), false],
    [trigger({ type: 'HTTP', config: { cron: '* * * * *' } }), false],
    [trigger({ type: 'HTTP' }), false],
    [trigger({ type: 'Zebra', config: {} }), false],
    [trigger({ type: 'HTTP', config: { path: 'a' } }), false],
    [trigger({ type: 'HTTP', config: {}, commands: { 'a b': { agent: 'a' } } }), false],
    [trigger({ type: 'HTTP', config: {}, commands: { a: { agnet: 'a' } } }), false],
    [trigger({ platform: 'whatsapp', config: {} }), false],
    [{ ...trigger({ type: 'Manual', config: {} }), metadata: { name: 'A' } }, false],
    [{ ...trigger({ type: 'Manual', config: {} }), kind: 'Agent' }, false],
  ])('of a trigger accepts %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.trigger, value)).toBe(isGood);
  });

  const agent = (spec: object) => ({ apiVersion: 'a/v1', kind: 'Agent', metadata: { name: 'a' }, spec });

  test.each([
    [agent({ model: 'scripted:./a.yaml' }), true],
    [agent({ runtime: { http: { url: '${URL}' } }, mcp_servers: [{ name: 'f', command: 'c' }] }), true],
    [agent({ model: 'large' }), false],
    [agent({ runtime: { grpc: {} } }), false],
    [agent({ mcp_servers: [{ name: 'f' }] }), false],
  ])('of an agent accepts %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.agent, value)).toBe(isGood);
  });

  const fleet = (spec: object) => ({ ...agent(spec), kind: 'AgentFleet' });
  const peer = { mode: 'peer', consensus: { field: 'verdict' } };

  test.each([
    [fleet({ agents: [{ name: 'a' }], coordination: { mode: 'pipeline' } }), true],
    [
      fleet({ agents: [{ name: 'a', spec: { model: 'scripted:a.yaml' }, weight: 2 }], coordination: peer }),
      true,
    ],
    [{ ...fleet({ agents: [{ name: 'a' }], coordination: peer }), kind: 'Fleet' }, true],
    [fleet({ agents: [{ name: 'a', spec: { modl: 'b' } }], coordination: peer }), false],
    [fleet({ agents: [{ name: 'a' }], coordination: { mode: 'swarm' } }), false],
    [fleet({ coordination: peer }), false],
  ])('of a fleet accepts %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.fleet, value)).toBe(isGood);
  });

  const flow = (...nodes: readonly object[]) => ({ ...agent({ nodes }), kind: 'Flow' });
  const wait = { id: 'w', type: 'Wait', config: { seconds: '{{ 1 + 1 }}' } };

  test.each([
    [
      flow(wait, { id: 'a', type: 'Agent', config: { agent: 'b' }, retry: { attempts: 3 }, on_error: 'w' }),
      true,
    ],
    [flow({ id: 'a', type: 'Agent', config: { spec: { model: 'scripted:a.yaml' } } }), true],
    [flow({ id: 'f', type: 'AgentFleet', config: { spec: { agents: [], coordination: peer } } }), true],
    [flow({ id: 'l', type: 'Loop', config: { over: '[1]', nodes: [wait], connections: [] } }), true],
    [flow({ id: 's', type: 'Slack', config: { text: 'a', channel: '#ops' } }), true],
    [
      { ...agent({ nodes: [wait], connections: [{ from: 'w', to: 'w', when: 'else' }] }), kind: 'AgentFlow' },
      true,
    ],
    [flow({ id: 'l', type: 'Loop', config: { over: '[1]', nodes: [{ ...wait, type: 'Zebra' }] } }), false],
    [flow({ id: 'l', type: 'Loop', config: { over: '[1]' } }), false],
    [flow({ id: 't', type: 'Tool', config: { server: 's', tool: 't', arguments: 1 } }), false],
    [flow({ id: 'h', type: 'HTTP', config: { url: 'http://a', methd: 'GET' } }), false],
    [flow({ ...wait, id: '1' }), false],
    [flow(), false],
    [agent({ nodes: [wait] }), false],
  ])('of a flow accepts %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.flow, value)).toBe(isGood);
  });

  test.each([
    [{ spec: { triggers: { directory: 't' } } }, true],
    [{ http_port: 9000, platforms: { repohost: { token_env: 'T' }, github: { anything: 1 } } }, true],
    [{ platforms: { repohost: { tokn: 'T' } } }, false],
    [{ spec: { trigger: {} } }, false],
  ])('of the gateway file in the form of a resource accepts %j: %s', (value, isGood) => {
    expect(Check(jsonSchemas.gateway, value)).toBe(isGood);
  });
});
