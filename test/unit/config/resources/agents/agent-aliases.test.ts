// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.
// Agents in the shapes that people have written for other programs: they load and mean the same, or are refused with what to
// write instead.

import { describe, expect, test } from 'vitest';
import { ResourceFolder } from '../resource-folder.ts';

const folder = new ResourceFolder();

const env = {
  GEMINI_API_KEY: 'the-gemini-key',
  ANTHROPIC_API_KEY: 'the-anthropic-key',
  VAULT_TOKEN: 'a-vault-token',
};
const head = 'apiVersion: example.com/v1\nkind: Agent\nmetadata: { name: a }\nspec:\n';

async function load(spec: string, text = head) {
  const file = folder.write('a.yaml', text + spec.replace(/^(?=.)/gm, '  '));
  const loaded = await folder.load({ files: [file], env });
  const runtime = loaded.agents[0]?.runtime;
  const told = loaded.lines.map((line) => line.replace(/^a\.yaml:\d+:\d+: /, ''));
  return { runtime: runtime?.kind === 'model' ? runtime : undefined, told };
}

const google = { provider: 'google', model: 'gemini-2.5-flash' };

describe('an agent written for another program', () => {
  test.each([
    ['instructions: Be brief.'],
    ['system: Be brief.'],
    ['systemPrompt: Be brief.'],
    ['system_prompt: Be brief.'],
  ])('may have its prompt as %s', async (line) => {
    const { runtime, told } = await load(`model: google:gemini-2.5-flash\n${line}\n`);
    expect(told).toEqual([]);
    expect(runtime?.system_prompt).toBe('Be brief.');
  });

  test.each([
    ['{ provider: google, name: gemini-2.5-flash, temperature: 0.4, max_tokens: 900 }'],
    ['{ provider: google, model_id: gemini-2.5-flash }\ntemperature: 0.4\nmax_tokens: 900'],
    ['gemini-2.5-flash\nprovider: google\nmodel_config: { temperature: 0.4, max_tokens: 900 }'],
    ['google:gemini-2.5-flash\nprovider: google\ntemperature: 0.4\nmaxTokens: 900'],
    ['"google:${MODEL:-gemini-2.5-flash}"\nmodel_config: { maxTokens: 900 }\ntemperature: 0.4'],
  ])('may have its model and what belongs to it as model: %s', async (model) => {
    const { runtime, told } = await load(`model: ${model}\n`);
    expect(told).toEqual([]);
    expect(runtime).toMatchObject({ models: [google], temperature: 0.4, max_tokens: 900 });
  });

  test('may have its bounds and its next models under other names', async () => {
    const { runtime, told } = await load(
      'model: google:m\nfallbackModels: [anthropic:n:1]\nmaxIterations: 5\ntimeout_secs: 9\n',
    );
    expect(told).toEqual([]);
    expect(runtime).toMatchObject({
      models: [
        { provider: 'google', model: 'm' },
        { provider: 'anthropic', model: 'n:1' },
      ],
      max_iterations: 5,
      timeout_seconds: 9,
    });
  });

  const elsewhere =
    'warning: spec.memory: where it is kept has no effect: conversations are in the store of the gateway; write memory: { messages: 40 }, or none';

  const tooMany = 'warning: spec.memory.messages: means 40: no more messages of a conversation are kept';

  test.each([
    ['max_context_messages: 12', 12, []],
    ['max_context_messages: 41', 41, [tooMany]],
    ['memory: { messages: 1000 }', 1000, [tooMany]],
    ['memory: none', 0, []],
    ['memory: { messages: 7 }', 7, []],
    ['memory: InMemory', 40, [elsewhere]],
    ['memory: "File:./notes.json:30"', 30, [elsewhere]],
    ['memory: "File:./notes.json"\nmax_context_messages: 9', 9, [elsewhere]],
    ['memory: { type: File, config: { path: ./notes.json, max_messages: 30 } }', 30, [elsewhere]],
    ['memory: { type: conversation, max_messages: 20 }', 20, [elsewhere]],
    ['memory: { enabled: true, persistence: redis, ttl: 86400 }', 40, [elsewhere]],
    ['memory: { enabled: false }', 0, []],
  ])('may say of its memory %s', async (lines, messages, warnings) => {
    const { runtime, told } = await load(`model: google:m\n${lines}\n`);
    expect(told).toEqual(warnings);
    expect(runtime?.memory).toEqual({ messages, characters: 32_768 });
  });

  test('may name transports and tools of its servers, and variables for all of them', async () => {
    const { runtime, told } = await load(`model: google:m
environment: { VAULT_TOKEN: "\${VAULT_TOKEN}", REGION: north }
mcp_servers:
  - { name: vault, transport: stdio, command: npx, args: [-y, vault-tools], env: { REGION: south }, timeout_secs: 20, tools: [vault_read] }
  - { name: search, transport: http, endpoint: "https://mcp.example.com/mcp" }
  - { name: old, transport: sse, url: "https://mcp.example.com/sse" }
tools:
  - name: vault_read
  - { name: unused, enabled: false }
  - search/*
`);
    expect(told).toEqual([]);
    expect(runtime?.tools).toEqual(['vault_read', 'search/*']);
    expect(runtime?.servers.map(({ name, entry }) => [name, entry?.runtime])).toEqual([
      ['vault', 'stdio'],
      ['search', 'http'],
      ['old', 'sse'],
    ]);
    expect(runtime?.servers[0]).toMatchObject({
      tools: { allow: ['vault_read'] },
      entry: { env: { VAULT_TOKEN: 'a-vault-token', REGION: 'south' }, request_timeout_seconds: 20 },
    });
  });

  test.each([
    [
      '{ type: MCP, config: { name: k, command: [npx, -y, kube], args: [--all], env: { A: b }, tools: [get] } }',
    ],
    [
      '{ type: mcp, name: k, transport: stdio, command: npx, args: [-y, kube, --all], env: { A: b }, tools: { allow: [get] } }',
    ],
    ['{ mcp: { name: k, command: [npx, -y, kube, --all], env: { A: b }, tools: [get] } }'],
    [
      '{ name: k, type: MCP, config: { command: npx, args: [-y, kube, --all], env: { A: b }, tools: [get] } }',
    ],
  ])('may have a server among its tools, as %s', async (item) => {
    for (const more of ['', 'mcp_servers: [github]\n']) {
      const { runtime, told } = await load(`model: google:m\n${more}tools:\n  - ${item}\n  - read_*\n`);
      expect(told).toEqual([]);
      expect(runtime?.tools).toEqual(['k/*', 'read_*']);
      expect(runtime?.servers).toHaveLength(more === '' ? 1 : 2);
      expect(runtime?.servers.at(-1)).toMatchObject({
        name: 'k',
        tools: { allow: ['get'] },
        entry: { runtime: 'stdio', command: 'npx', args: ['-y', 'kube', '--all'], env: { A: 'b' } },
      });
    }
  });

  test('may have one at an address among its tools, or one of the catalog', async () => {
    const { runtime, told } = await load(`model: google:m
tools:
  - { type: MCP, config: { name: search, endpoint: "https://mcp.example.com/mcp", headers: { A: b } } }
  - { mcp: { server: github, tools: [get_issue] } }
  - { mcp: wiki }
  - { type: MCP, enabled: false, config: { name: off, command: npx } }
`);
    expect(told).toEqual([]);
    expect(runtime?.tools).toEqual(['search/*', 'github/*', 'wiki/*']);
    expect(runtime?.servers.map(({ name, entry, tools }) => [name, entry?.runtime, tools.allow])).toEqual([
      ['search', 'http', ['*']],
      ['github', undefined, ['get_issue']],
      ['wiki', undefined, ['*']],
    ]);
  });

  test('may have its servers by name, as the files of desktop clients have them', async () => {
    const { runtime, told } = await load(`model: google:m
mcpServers:
  files: { command: npx, args: [-y, files], env: { TOKEN: "\${VAULT_TOKEN}" } }
  search: { url: "https://mcp.example.com/mcp", tools: [find] }
  github: { server: github }
tools:
  - { type: MCP, config: { name: k, command: kube } }
  - { name: read, server: files, source: mcp }
  - find
`);
    expect(told).toEqual([]);
    expect(runtime?.tools).toEqual(['k/*', 'files/read', 'find']);
    expect(runtime?.servers).toMatchObject([
      { name: 'files', entry: { runtime: 'stdio', command: 'npx', env: { TOKEN: 'a-vault-token' } } },
      { name: 'search', entry: { runtime: 'http' }, tools: { allow: ['find'] } },
      { name: 'github', entry: undefined },
      { name: 'k', entry: { command: 'kube' } },
    ]);
  });

  test.each([
    ['[{ name: rm, enabled: false }]', [], ['rm']],
    ['[{ name: rm, server: files, enabled: false, config: { a: b } }, "read_*"]', ['read_*'], ['files/rm']],
    [
      '[{ mcp: { name: k, command: kube } }, { name: rm, enabled: false }]\npolicy: { deny: ["*delete*"] }',
      ['k/*'],
      ['*delete*', 'rm'],
    ],
    ['[{ type: MCP, enabled: false, config: { name: off, command: npx } }]', [], []],
  ])('has no tool that is switched off, as in tools: %s', async (tools, narrowed, deny) => {
    const own = 'mcp_servers: [{ name: files, command: serve }]\n';
    const { runtime, told } = await load(`model: google:m\n${own}tools: ${tools}\n`);
    expect(told).toEqual([]);
    expect(runtime?.tools).toEqual(narrowed);
    expect(runtime?.policy.deny).toEqual(deny);
  });

  test('in a namespace loads, with a warning', async () => {
    const { runtime, told } = await load(
      'model: google:m\n',
      head.replace('{ name: a }', '{ name: a, namespace: ops }'),
    );
    expect(told).toEqual([
      'warning: metadata.namespace: has no effect: a gateway has one for all its resources',
    ]);
    expect(runtime).toBeDefined();
  });

  test('whose variables reach no server of its own is told so', async () => {
    const { told } = await load('model: google:m\nenv: { A: b }\nmcp_servers: [github]\n');
    expect(told).toEqual([
      'warning: spec.env: has no effect: it is for local servers of its own, and there is none under mcp_servers',
    ]);
  });

  const put =
    'not built in: put what is needed into a tool server, write that under mcp_servers, and name its tools here, or leave tools out';
  const own = 'mcp_servers: [{ name: files, command: serve }]\n';

  test.each([
    ['tools: [shell, kubectl]', `spec.tools: shell, kubectl are ${put}`],
    [
      `${own}tools: [read_file, shell]`,
      `spec.tools[1]: shell is ${put}; a tool of a server is written files/shell`,
    ],
    ['tools: [{ type: Shell, config: { allowed_commands: [kubectl] } }]', `spec.tools[0]: Shell is ${put}`],
    ...[
      '{ type: MCP }',
      '{ type: MCP, config: { command: npx } }',
      '{ mcp: { name: k } }',
      '{ type: mcp, name: k }',
    ].map((item): [string, string] => [
      `tools: [${item}]`,
      'spec.tools[0]: is a tool server: write it under mcp_servers, as - { name: NAME, command: PROGRAM, args: [ARGUMENT] }',
    ]),
    [
      'tools: [{ type: MCP, config: { name: k, command: npx, flavour: x } }]',
      'spec.mcp_servers[0].flavour: unknown key',
    ],
    [
      `${own}tools: [{ type: MCP, config: { name: files, command: npx } }]`,
      'spec.mcp_servers[1].name: is there twice: files',
    ],
    [
      `${own}tools: []`,
      'spec.tools: names no tool: leave it out for all that its servers offer, or take the servers out for none',
    ],
    ['toolsets: [{ type: mcp, command: npx }]', 'spec.toolsets: is written as mcp_servers'],
    [
      'model_config: { top_p: 0.9 }',
      'spec.model_config.top_p: is not passed on to models; what is: temperature, max_tokens, timeout_seconds',
    ],
    [
      'temperature: 1\nmodel_config: { temperature: 0 }',
      'spec.model_config.temperature: is there twice: spec.temperature too',
    ],
    ['instructions: a\nsystem: b', 'spec.system: means system_prompt, which instructions means as well'],
    [
      'memory: { messages: 4 }\nmax_context_messages: 5',
      'spec.max_context_messages: means memory.messages, and memory says already how much is remembered',
    ],
    [
      'triggers: []',
      'spec.triggers: stand in files of their own: make it a Trigger whose default_agent is this agent',
    ],
    ['tool_restrictions: {}', 'spec.tool_restrictions: is written as policy: { deny: […], ask: […] }'],
    [
      'shell: {}',
      'spec.shell: is not built in: put the commands into a tool server, and name that under mcp_servers',
    ],
    [
      'model_config: { api_key: x }',
      'spec.model_config.api_key: belongs to the provider: write it under providers of the gateway file',
    ],
    [
      'base_url: "http://127.0.0.1:1/v1"',
      'spec.base_url: belongs to the provider: write it under providers of the gateway file',
    ],
    [
      'top_p: 0.9',
      'spec.top_p: is not passed on to models; what is: temperature, max_tokens, timeout_seconds',
    ],
    ['response_format: json', 'spec.response_format: is written as output_schema, with a JSON Schema'],
    ['stream: true', 'spec.stream: has no effect: answers always come in pieces; take it out'],
    [
      'mcp_servers: { files: { name: others, command: serve } }',
      'spec.mcp_servers[0]: is under the name files already; take this one out, or write the servers as a list',
    ],
    [
      'mcp_servers: { files: }',
      'spec.mcp_servers[0]: needs a command, or a url; of the catalog write - server: files',
    ],
    ['instrutcions: a', 'spec.instrutcions: unknown key; did you mean instructions?'],
    ['memory: { ref: m }', 'spec.memory.ref: unknown key'],
  ])('is refused with %s', async (lines, problem) => {
    const { runtime, told } = await load(`model: google:m\n${lines}\n`);
    expect(told).toEqual([problem]);
    expect(runtime).toBeUndefined();
  });

  test.each([
    ['model: gpt-4', 'spec.model: expected PROVIDER:MODEL, such as google:gemini-2.5-flash, found "gpt-4"'],
    ['provider: google', 'spec.provider: needs a model beside it; or write model: PROVIDER:MODEL'],
    [
      'model: { provider: google }',
      'spec.model: expected PROVIDER:MODEL, such as google:gemini-2.5-flash, or a mapping with provider and name',
    ],
    ['llm: { provider: google }\nmodel: google:m', 'spec.llm: is written as model: PROVIDER:MODEL'],
  ])('is refused with %s for its model', async (lines, problem) => {
    const { told } = await load(`${lines}\n`);
    expect(told.filter((line) => !line.startsWith('spec: nobody runs it'))).toEqual([problem]);
  });

  const written =
    'written as apiVersion: example.com/v1, kind: Agent, metadata: { name: NAME }, and under spec what stands here';

  test.each([
    ['name: a\nmodel: google:m\ninstructions: Be brief.\n', `an agent is ${written}`],
    [
      'agents: { root: { model: openai/gpt, instruction: Be brief. } }\n',
      `agents are documents of their own, each ${written} under its name`,
    ],
  ])('is refused without a head, as %j', async (text, advice) => {
    const { told } = await load('', text);
    expect(told).toEqual([`kind: required, but missing; ${advice}`]);
  });
});
