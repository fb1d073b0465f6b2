// Suggestions for unknown keys: synonyms in each schema, and fields one level up or down. Forms of mappings,
// and durations in numeric fields.

import { describe, expect, test } from 'vitest';
import { fieldsBelow, kinds, rootField } from '../../../../config/json-schema/schema-fields.ts';
import { synonyms } from '../../../../config/reader/synonyms.ts';
import { ConfigFolder } from '../config-folder.ts';
import { ResourceFolder } from '../resources/resource-folder.ts';

const resource = (kind: string, spec: string) =>
  `apiVersion: example.com/v1\nkind: ${kind}\nmetadata: { name: t }\nspec: ${spec}\n`;
const agent = (more: string) => resource('Agent', `{ model: "google:x", ${more} }`);
const trigger = (type: string, config: string, more = 'default_agent: echo') =>
  resource('Trigger', `{ type: ${type}, config: { ${config} }, ${more} }`);
const flow = (node: string) =>
  resource(
    'Flow',
    `{ nodes: [{ id: a, ${node} }, { id: z, type: End, config: {} }], connections: [{ from: a, to: z }] }`,
  );

const gatewayFolder = new ConfigFolder();

async function messagesOf(
  kind: 'gateway' | 'catalog' | 'resource',
  text: string,
): Promise<readonly string[]> {
  if (kind === 'catalog') return (await gatewayFolder.loadCatalog(`servers: { a: { ${text} } }\n`)).lines;
  if (kind === 'resource') return (await new ResourceFolder().loadText(text)).lines;
  return (
    await gatewayFolder.loadGateway(`listen_addr: 127.0.0.1:0\ncatalog_path: ./catalog.yaml\n${text}\n`)
  ).lines;
}

describe('an unknown key', () => {
  test.each([
    ['resource', agent('prompt: be brief'), 'spec.prompt', 'system_prompt'],
    ['resource', agent('persona: be brief'), 'spec.persona', 'system_prompt'],
    ['resource', agent('max_turns: 5'), 'spec.max_turns', 'max_iterations'],
    ['resource', agent('policy: { confirm: [x] }'), 'spec.policy.confirm', 'ask'],
    ['resource', agent('confirm: [x]'), 'spec.confirm', 'policy.ask'],
    ['resource', agent('policy: { block: [x] }'), 'spec.policy.block', 'deny'],
    ['resource', agent('memory: { window: 4 }'), 'spec.memory.window', 'messages'],
    ['resource', trigger('BotMessenger', 'token: x'), 'spec.config.token', 'bot_token'],
    ['resource', trigger('ChatWorkspace', 'token: x'), 'spec.config.token', 'bot_token'],
    ['resource', trigger('ChatWorkspace', 'app_level_token: x'), 'spec.config.app_level_token', 'app_token'],
    ['resource', trigger('HTTP', 'secret: x'), 'spec.config.secret', 'webhook_secret'],
    ['resource', trigger('Schedule', 'every: 5m'), 'spec.config.every', 'cron'],
    ['resource', trigger('Schedule', 'tz: UTC, cron: "* * * * *"'), 'spec.config.tz', 'timezone'],
    ['resource', trigger('Manual', '', 'agent: echo'), 'spec.agent', 'default_agent'],
    ['resource', trigger('Manual', 'agent: echo', ''), 'spec.config.agent', 'spec.default_agent'],
    ['resource', trigger('Schedule', '', 'cron: "* * * * *"'), 'spec.cron', 'config.cron'],
    ['resource', agent('goal: be brief'), 'spec.goal', 'system_prompt'],
    ['resource', agent('allowed_tools: [x]'), 'spec.allowed_tools', 'tools'],
    ['resource', agent('permissions: {}'), 'spec.permissions', 'policy'],
    ['resource', agent('history: 10'), 'spec.history', 'memory'],
    ['resource', agent('url: "http://x/"'), 'spec.url', 'runtime'],
    ['resource', trigger('ChatWorkspace', '', 'filter: hello'), 'spec.filter', 'config.patterns'],
    ['resource', trigger('RepoHost', 'filter: push'), 'spec.config.filter', 'repo_events'],
    ['resource', trigger('RepoHost', '', 'when: push'), 'spec.when', 'config.repo_events'],
    ['resource', trigger('Manual', '', 'disabled: true'), 'spec.disabled', 'enabled'],
    ['resource', trigger('Manual', '', 'rules: []'), 'spec.rules', 'commands'],
    ['resource', trigger('Schedule', 'when: daily'), 'spec.config.when', 'cron'],
    ['resource', trigger('Schedule', 'minutes: 5'), 'spec.config.minutes', 'cron'],
    ['resource', flow('type: Wait, with: { seconds: 5 }'), 'spec.nodes[0].with', 'config'],
    ['resource', resource('AgentFleet', '{ agents: [], manager: a }'), 'spec.manager', 'coordination'],
    ['gateway', 'models: [x]', 'models', 'providers'],
    ['gateway', 'slack: {}', 'slack', 'platforms'],
    ['gateway', 'database_url: x', 'database_url', 'store'],
    ['catalog', 'command: x, retries: 3', 'servers.a.retries', 'restart.intensity'],
    ['catalog', 'command: x, enabled_tools: [y]', 'servers.a.enabled_tools', 'tools.allow'],
    ['catalog', 'command: x, keep_alive: 5', 'servers.a.keep_alive', 'idle_timeout_seconds'],
    [
      'resource',
      flow('type: HTTP, config: { endpoint: "http://x/" }'),
      'spec.nodes[0].config.endpoint',
      'url',
    ],
    ['resource', flow('type: Wait, config: { duration: 5 }'), 'spec.nodes[0].config.duration', 'seconds'],
    ['resource', flow('type: Tool, config: { args: {} }'), 'spec.nodes[0].config.args', 'arguments'],
    ['gateway', 'store: { postgres: { host: db } }', 'store.postgres.host', 'url'],
    ['gateway', 'store: { postgres: { user: me } }', 'store.postgres.user', 'url'],
    ['gateway', 'store: { host: db }', 'store.host', 'postgres'],
    [
      'gateway',
      'providers: { local: { type: openai, endpoint: "http://x/" } }',
      'providers.local.endpoint',
      'base_url',
    ],
    ['gateway', 'body_bytes: 4096', 'body_bytes', 'limits.body_bytes'],
    ['catalog', 'command: x, pool: { queue: 5 }', 'servers.a.pool.queue', 'waiting'],
  ] as const)('in a %s file is reported with the likely key: $2', async (kind, text, path, field) => {
    const messages = await messagesOf(kind, text);
    expect(messages.join('\n')).toContain(`: ${path}: unknown key; did you mean ${field}?`);
  });

  test.each([
    ['flow: deploy', trigger('Manual', '', 'flow: deploy'), 'commands: { NAME: { flow: NAME } }'],
    ['fleet: team', trigger('Manual', '', 'fleet: team'), 'commands: { NAME: { fleet: NAME } }'],
    [
      'workflow: x',
      trigger('Schedule', 'cron: "* * * * *"', 'workflow: x'),
      'commands: { tick: { flow: NAME } }',
    ],
    [
      'filter: x',
      trigger('Manual', '', 'filter: x'),
      'a trigger has no conditions; use a Conditional node in a flow',
    ],
    [
      'if: x',
      trigger('HTTP', 'path: /x, if: x'),
      'a trigger has no conditions; use a Conditional node in a flow',
    ],
    ['needs: [b]', flow('type: Join, needs: [b]'), 'connections: [{ from: NODE, to: NODE }] next to nodes'],
    [
      'if: x',
      flow('type: Join, if: x'),
      'connections: [{ from: NODE, to: NODE, when: CONDITION }] next to nodes',
    ],
  ])('such as "%s" is reported with the form of the replacement', async (_, text, form) => {
    expect((await messagesOf('resource', text)).join('\n')).toContain(form);
  });

  test('is compared with a table of synonyms that contains only fields of the schemas', () => {
    const fields = new Set(
      kinds.flatMap((kind) => [...fieldsBelow(rootField(kind))].map(({ path }) => path.at(-1))),
    );
    expect(Object.keys(synonyms).filter((field) => !fields.has(field))).toEqual([]);
    const all = Object.values(synonyms).flatMap((text) => text.split(' '));
    expect(all.filter((word) => !/^[a-z0-9]+$/.test(word))).toEqual([]);
  });
});

describe('a value in place of a mapping', () => {
  test.each([
    ['gateway', 'inspector: true', 'inspector: { enabled: true }'],
    ['gateway', 'store: postgres://db/x', 'store: { postgres: { url: URL } }'],
    ['gateway', 'limits: 4096', 'limits: { body_bytes: 4096 }'],
    ['gateway', 'providers: openai', 'providers: { NAME: '],
    ['catalog', 'command: x, restart: never', 'restart: { intensity: '],
    ['resource', agent('memory: 40'), 'memory: { messages: 40 }'],
    ['resource', agent('policy: ask'), 'policy: { deny: [] }'],
    ['resource', trigger('Manual', '', 'default_agent: echo, retry: 3'), 'retry: { attempts: 3 }'],
    ['resource', agent('runtime: "http://x/"'), 'runtime: { http: { url: URL } }'],
    ['resource', flow('type: HTTP, config: "http://x/"'), 'config: { url: URL }'],
  ] as const)('in a %s file is reported with the expected form: $2', async (kind, text, form) => {
    const messages = await messagesOf(kind, text);
    expect(messages.join('\n')).toContain(`; write ${form}`);
  });

  test('is used in the suggested mapping only if a field of the mapping accepts the value', async () => {
    const messages = await messagesOf('gateway', 'limits: 0');
    expect(messages.join('\n')).toMatch(/limits: expected a mapping.*; write limits: \{ \w+: [1-9]\d* \}$/);
  });
});

describe('a duration', () => {
  test.each([
    ['gateway', 'limits: { session_idle_seconds: 5m }', 'session_idle_seconds: 300'],
    ['gateway', 'deliveries: { retention_days: 36h }', 'retention_days: 1.5'],
    ['catalog', 'command: x, restart: { min_backoff_ms: 2s }', 'min_backoff_ms: 2000'],
    ['catalog', 'command: x, request_timeout_seconds: 1h30m', 'request_timeout_seconds: 5400'],
    ['resource', agent('timeout_seconds: 5 minutes'), 'timeout_seconds: 300'],
    ['resource', flow('type: Wait, config: { seconds: 5m }'), 'seconds: 300'],
  ] as const)(
    'in a numeric field of a %s file is reported with the converted number: $2',
    async (kind, text, line) => {
      const messages = await messagesOf(kind, text);
      expect(messages.join('\n')).toContain(`; the field name contains the unit; write ${line}`);
    },
  );

  test('is not converted for a field such as platforms, whose name only seems to end with a unit', async () => {
    const messages = await messagesOf('gateway', 'platforms: 5m');
    expect(messages.join('\n')).toContain(': platforms: expected a mapping');
    expect(messages.join('\n')).not.toContain('the field name contains the unit');
  });
});

test.each([
  ['servers: { a: { command: x } }', 'this is a catalog, checked with --catalog FILE --check'],
  ['{ "mcpServers": {} }', 'this is a catalog, checked with --catalog FILE --check'],
  ['listen_addr: 127.0.0.1:0', 'this is a gateway file, checked with --config FILE --check'],
])(
  'a file of another kind in place of a resource file is recognized, and its kind is reported: %s',
  async (text, advice) => {
    const messages = await messagesOf('resource', `${text}\n`);
    expect(messages).toEqual([`t.yaml:1:1: kind: required, but missing; ${advice}`]);
  },
);
