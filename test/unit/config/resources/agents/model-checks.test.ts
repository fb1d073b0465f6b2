// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Checks of model agents that need the rest of the configuration.

import { describe, expect, test } from 'vitest';
import type { LoadResourcesOptions } from '../../../../../config/resources/load-resources.ts';
import { ResourceFolder } from '../resource-folder.ts';

const folder = new ResourceFolder();

async function load(spec: string, options: Partial<LoadResourcesOptions> = {}) {
  const file = folder.write(
    'a.yaml',
    `apiVersion: example.com/v1\nkind: Agent\nmetadata: { name: a }\nspec: { ${spec} }\n`,
  );
  const { files = [], ...rest } = options;
  const { lines, agents } = await folder.load({ files: [file, ...files], ...rest });
  return { lines: lines.map((line) => line.replace(/^a\.yaml:\d+:\d+: /, '')), agents };
}

describe('the provider of an agent', () => {
  test('is an error if it is unknown or has no key, also for fallback models', async () => {
    const { lines, agents } = await load('model: "gogle:m", fallback: ["ollama:l", "groq:m", "openai:m"]', {
      env: { OPENAI_API_KEY: 'k' },
    });
    expect(lines).toEqual([
      'spec.model: unknown provider gogle; did you mean google?',
      'spec.fallback[1]: provider groq has no key: set the environment variable GROQ_API_KEY',
    ]);
    expect(agents).toEqual([]);
  });

  test('that is unknown or has no key is only a warning in a lenient check', async () => {
    const { lines, agents } = await load('model: "mine:m", fallback: ["groq:m"]', { isLenient: true });
    expect(lines).toEqual([
      'warning: spec.model: unknown provider mine; known are openai, anthropic, google, groq, ollama; others need an entry under providers of the gateway file',
      'warning: spec.fallback[0]: provider groq has no key: set the environment variable GROQ_API_KEY',
    ]);
    expect(agents).toHaveLength(1);
  });

  test('with an unset variable is a warning in a lenient check, and the agent is kept', async () => {
    for (const field of ['model: "${M}"', 'runtime: { http: { url: "${M}" } }']) {
      const { lines, agents } = await load(field, { isLenient: true });
      expect(lines).toEqual([
        expect.stringMatching(/^warning: .*: the environment variable M is not set; set it/),
      ]);
      expect(agents).toHaveLength(1);
      expect((await load(field)).agents).toEqual([]);
    }
  });

  test('may be defined in the gateway file', async () => {
    const knownNames = { providers: { mine: { base_url: 'http://127.0.0.1:1/v1' } } };
    expect((await load('model: "mine:m"', { agentContext: knownNames })).lines).toEqual([]);
  });
});

describe('a catalog server of an agent', () => {
  const spec = 'model: "ollama:m", mcp_servers: [github, { server: gitlab, tools: { allow: [a] } }]';

  test('is an error if it is unknown, with a suggestion', async () => {
    const knownNames = { servers: ['github', 'gitlap'] };
    expect((await load(spec, { agentContext: knownNames })).lines).toEqual([
      'spec.mcp_servers[1].server: the catalog has no server gitlab; did you mean gitlap?',
    ]);
    expect((await load(spec, { agentContext: { servers: ['gitlab'] } })).lines).toEqual([
      'spec.mcp_servers[0]: the catalog has no server github; did you mean gitlab?',
    ]);
  });

  test('is not checked without a catalog', async () => {
    expect((await load(spec)).lines).toEqual([]);
  });
});

test('a pattern with a server that the agent does not have is a warning', async () => {
  const { lines, agents } = await load(
    'model: "ollama:m", mcp_servers: [github, { name: files, command: serve }], tools: [githup/get_issue, files/*, "*/x", y], policy: { ask: [pay/now, github/*], deny: [file/rm] }',
  );
  const none = 'matches no tool: mcp_servers has no server';
  expect(lines).toEqual([
    `warning: spec.tools[0]: ${none} githup; did you mean github/get_issue?`,
    `warning: spec.policy.ask[0]: ${none} pay`,
    `warning: spec.policy.deny[0]: ${none} file; did you mean files/rm?`,
  ]);
  expect(agents).toHaveLength(1);
});

test('a budget in money needs the prices of all models', async () => {
  const spec = 'model: "ollama:m", fallback: ["ollama:n"], budget: { cost: 2 }';
  const price = { input: 1, output: 2 };
  expect((await load(spec, { agentContext: { prices: { 'ollama:m': price } } })).lines).toEqual([
    'spec.budget.cost: needs prices of ollama:n in the gateway file',
  ]);
  expect(
    (await load(spec, { agentContext: { prices: { 'ollama:m': price, 'ollama:n': price } } })).lines,
  ).toEqual([]);
  expect((await load(spec)).lines).toEqual([]);
});

describe('approvals of an agent', () => {
  const trigger = (type: string, config: string) =>
    folder.write(
      't.yaml',
      `apiVersion: example.com/v1\nkind: Trigger\nmetadata: { name: t }\nspec: { type: ${type}, config: { ${config} }, default_agent: a }\n`,
    );
  const chat = 'bot_token: "1:abc"';
  const asking = 'model: "ollama:m", policy: { ask: [pay] }';
  const alone =
    'warning: spec.policy.ask: events of trigger t have no approver: only clients with the API key can decide, and no notification is sent; set approvers or an approval_channel under policy';

  test.each([
    [asking, 'Manual', '', [alone]],
    [asking, 'BotMessenger', chat, [alone]],
    [asking, 'BotMessenger', `${chat}, approval_allowed_users: ["7"]`, []],
    ['model: "ollama:m", policy: { ask: [pay], approvers: [ada] }', 'Manual', '', []],
    ['model: "ollama:m", policy: { ask: [pay], approval_channel: ops }', 'Manual', '', []],
    [
      'model: "ollama:m", interrupted_calls: ask',
      'Manual',
      '',
      [alone.replace('policy.ask', 'interrupted_calls')],
    ],
    ['model: "ollama:m"', 'Manual', '', []],
  ])(
    'of { %s } with a trigger of type %s { %s } cause a warning if only the operator can decide',
    async (spec, type, config, message) => {
      const { lines } = await load(spec, { files: [trigger(type, config)] });
      expect(lines.filter((line) => !line.startsWith('t.yaml'))).toEqual(message);
    },
  );

  test('cause no warning about the operator if no trigger leads to the agent', async () => {
    expect((await load(asking)).lines).toEqual([]);
  });
});

test.each([
  'policy: { deny: [x] }',
  'budget: { tokens: 5 }',
  'memory: none',
  'output_schema: { type: object }',
])('an agent with an external runtime refuses %s, which would have no effect', async (field) => {
  const { lines } = await load(`runtime: { http: { url: "http://a/" } }, ${field}`);
  const key = field.replace(/:.*/, '');
  expect(lines).toEqual([`spec.${key}: is only for agents that the gateway runs with a model`]);
});
