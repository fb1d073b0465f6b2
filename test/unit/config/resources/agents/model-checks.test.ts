// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.
// What an agent with a model needs of the gateway beside its file.

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
  test('that is unknown, or has no key, is an error; of its next models too', async () => {
    const { lines, agents } = await load('model: "gogle:m", fallback: ["ollama:l", "groq:m", "openai:m"]', {
      env: { OPENAI_API_KEY: 'k' },
    });
    expect(lines).toEqual([
      'spec.model: there is no provider gogle; did you mean google?',
      'spec.fallback[1]: provider groq has no key: set the environment variable GROQ_API_KEY',
    ]);
    expect(agents).toEqual([]);
  });

  test('is a warning where files are judged for elsewhere, where both may be otherwise', async () => {
    const { lines, agents } = await load('model: "mine:m", fallback: ["groq:m"]', { isLenient: true });
    expect(lines).toEqual([
      'warning: spec.model: there is no provider mine: known are openai, anthropic, google, groq, ollama; any other needs an entry under providers of the gateway file',
      'warning: spec.fallback[0]: provider groq has no key: set the environment variable GROQ_API_KEY',
    ]);
    expect(agents).toHaveLength(1);
  });

  test('whose variable is set elsewhere is a warning there, and the agent is one all the same', async () => {
    for (const field of ['model: "${M}"', 'runtime: { http: { url: "${M}" } }']) {
      const { lines, agents } = await load(field, { isLenient: true });
      expect(lines).toEqual([
        expect.stringMatching(/^warning: .*: the environment variable M is not set; set it/),
      ]);
      expect(agents).toHaveLength(1);
      expect((await load(field)).agents).toEqual([]);
    }
  });

  test('may be one of the gateway file', async () => {
    const given = { providers: { mine: { base_url: 'http://127.0.0.1:1/v1' } } };
    expect((await load('model: "mine:m"', { given })).lines).toEqual([]);
  });
});

describe('a server of the catalog', () => {
  const spec = 'model: "ollama:m", mcp_servers: [github, { server: gitlab, tools: { allow: [a] } }]';

  test('that is not there is an error with the one that was meant', async () => {
    const given = { servers: ['github', 'gitlap'] };
    expect((await load(spec, { given })).lines).toEqual([
      'spec.mcp_servers[1].server: there is no server gitlab in the catalog; did you mean gitlap?',
    ]);
    expect((await load(spec, { given: { servers: ['gitlab'] } })).lines).toEqual([
      'spec.mcp_servers[0]: there is no server github in the catalog; did you mean gitlab?',
    ]);
  });

  test('is believed where the catalog is not known', async () => {
    expect((await load(spec)).lines).toEqual([]);
  });
});

test('a pattern of a server that the agent does not have is that of no tool', async () => {
  const { lines, agents } = await load(
    'model: "ollama:m", mcp_servers: [github, { name: files, command: serve }], tools: [githup/get_issue, files/*, "*/x", y], policy: { ask: [pay/now, github/*], deny: [file/rm] }',
  );
  const none = 'names no tool: there is no server';
  expect(lines).toEqual([
    `warning: spec.tools[0]: ${none} githup under mcp_servers; did you mean github/get_issue?`,
    `warning: spec.policy.ask[0]: ${none} pay under mcp_servers`,
    `warning: spec.policy.deny[0]: ${none} file under mcp_servers; did you mean files/rm?`,
  ]);
  expect(agents).toHaveLength(1);
});

test('a budget in money needs the price of every model', async () => {
  const spec = 'model: "ollama:m", fallback: ["ollama:n"], budget: { cost: 2 }';
  const price = { input: 1, output: 2 };
  expect((await load(spec, { given: { prices: { 'ollama:m': price } } })).lines).toEqual([
    'spec.budget.cost: needs prices of ollama:n in the gateway file',
  ]);
  expect((await load(spec, { given: { prices: { 'ollama:m': price, 'ollama:n': price } } })).lines).toEqual(
    [],
  );
  expect((await load(spec)).lines).toEqual([]);
});

describe('what an agent has to ask', () => {
  const trigger = (type: string, config: string) =>
    folder.write(
      't.yaml',
      `apiVersion: example.com/v1\nkind: Trigger\nmetadata: { name: t }\nspec: { type: ${type}, config: { ${config} }, default_agent: a }\n`,
    );
  const chat = 'bot_token: "1:abc"';
  const asking = 'model: "ollama:m", policy: { ask: [pay] }';
  const alone =
    'warning: spec.policy.ask: of what comes from trigger t only whoever has the API key may decide, and nobody is told: name approvers or an approval_channel under policy';

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
    'by { %s } from a trigger of type %s { %s } is told where nobody else may decide',
    async (spec, type, config, told) => {
      const { lines } = await load(spec, { files: [trigger(type, config)] });
      expect(lines.filter((line) => !line.startsWith('t.yaml'))).toEqual(told);
    },
  );

  test('needs nobody beside the operator where no trigger leads to it', async () => {
    expect((await load(asking)).lines).toEqual([]);
  });
});

test.each([
  'policy: { deny: [x] }',
  'budget: { tokens: 5 }',
  'memory: none',
  'output_schema: { type: object }',
])('an agent that a program answers for cannot have %s, which nobody would heed', async (field) => {
  const { lines } = await load(`runtime: { http: { url: "http://a/" } }, ${field}`);
  const key = field.replace(/:.*/, '');
  expect(lines).toEqual([
    `spec.${key}: is for agents whose model the gateway asks; who answers for this one decides that`,
  ]);
});
