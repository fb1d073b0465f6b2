// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Agent files in formats of other programs are loaded with the same meaning, or refused with the correct
// form.

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
  const shortLines = loaded.lines.map((line) => line.replace(/^a\.yaml:\d+:\d+: /, ''));
  return { runtime: runtime?.kind === 'model' ? runtime : undefined, shortLines };
}

const google = { provider: 'google', model: 'gemini-2.5-flash' };

describe('an agent file with the field names of another program', () => {
  test.each([
    ['instructions: Be brief.'],
    ['system: Be brief.'],
    ['systemPrompt: Be brief.'],
    ['system_prompt: Be brief.'],
  ])('may have its prompt as %s', async (line) => {
    const { runtime, shortLines } = await load(`model: google:gemini-2.5-flash\n${line}\n`);
    expect(shortLines).toEqual([]);
    expect(runtime?.system_prompt).toBe('Be brief.');
  });

  test.each([
    ['{ provider: google, name: gemini-2.5-flash, temperature: 0.4, max_tokens: 900 }'],
    ['{ provider: google, model_id: gemini-2.5-flash }\ntemperature: 0.4\nmax_tokens: 900'],
    ['gemini-2.5-flash\nprovider: google\nmodel_config: { temperature: 0.4, max_tokens: 900 }'],
    ['google:gemini-2.5-flash\nprovider: google\ntemperature: 0.4\nmaxTokens: 900'],
    ['"google:${MODEL:-gemini-2.5-flash}"\nmodel_config: { maxTokens: 900 }\ntemperature: 0.4'],
  ])('may have its model settings as model: %s', async (model) => {
    const { runtime, shortLines } = await load(`model: ${model}\n`);
    expect(shortLines).toEqual([]);
    expect(runtime).toMatchObject({ models: [google], temperature: 0.4, max_tokens: 900 });
  });

  test('may have its limits and fallback models under other names', async () => {
    const { runtime, shortLines } = await load(
      'model: google:m\nfallbackModels: [anthropic:n:1]\nmaxIterations: 5\ntimeout_secs: 9\n',
    );
    expect(shortLines).toEqual([]);
    expect(runtime).toMatchObject({
      models: [
        { provider: 'google', model: 'm' },
        { provider: 'anthropic', model: 'n:1' },
      ],
      max_iterations: 5,
      timeout_seconds: 9,
    });
  });

  const otherAgent =
    'warning: spec.memory: the storage setting is ignored: conversations are in the store of the gateway; write memory: { messages: 40 }, or none';

  const tooMany =
    'warning: spec.memory.messages: is limited to 40, the maximum of stored messages per conversation';

  test.each([
    ['max_context_messages: 12', 12, []],
    ['max_context_messages: 41', 41, [tooMany]],
    ['memory: { messages: 1000 }', 1000, [tooMany]],
    ['memory: none', 0, []],
    ['memory: { messages: 7 }', 7, []],
    ['memory: InMemory', 40, [otherAgent]],
    ['memory: "File:./notes.json:30"', 30, [otherAgent]],
    ['memory: "File:./notes.json"\nmax_context_messages: 9', 9, [otherAgent]],
    ['memory: { type: File, config: { path: ./notes.json, max_messages: 30 } }', 30, [otherAgent]],
    ['memory: { type: conversation, max_messages: 20 }', 20, [otherAgent]],
    ['memory: { enabled: true, persistence: redis, ttl: 86400 }', 40, [otherAgent]],
    ['memory: { enabled: false }', 0, []],
  ])('may configure its memory as %s', async (lines, messages, warnings) => {
    const { runtime, shortLines } = await load(`model: google:m\n${lines}\n`);
    expect(shortLines).toEqual(warnings);
    expect(runtime?.memory).toEqual({ messages, characters: 32_768 });
  });

  test('may name transports and tools of its servers, and variables for all of them', async () => {
    const { runtime, shortLines } = await load(`model: google:m
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
    expect(shortLines).toEqual([]);
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
      const { runtime, shortLines } = await load(`model: google:m\n${more}tools:\n  - ${item}\n  - read_*\n`);
      expect(shortLines).toEqual([]);
      expect(runtime?.tools).toEqual(['k/*', 'read_*']);
      expect(runtime?.servers).toHaveLength(more === '' ? 1 : 2);
      expect(runtime?.servers.at(-1)).toMatchObject({
        name: 'k',
        tools: { allow: ['get'] },
        entry: { runtime: 'stdio', command: 'npx', args: ['-y', 'kube', '--all'], env: { A: 'b' } },
      });
    }
  });

  test('may have a remote or catalog server among its tools', async () => {
    const { runtime, shortLines } = await load(`model: google:m
tools:
  - { type: MCP, config: { name: search, endpoint: "https://mcp.example.com/mcp", headers: { A: b } } }
  - { mcp: { server: github, tools: [get_issue] } }
  - { mcp: wiki }
  - { type: MCP, enabled: false, config: { name: off, command: npx } }
`);
    expect(shortLines).toEqual([]);
    expect(runtime?.tools).toEqual(['search/*', 'github/*', 'wiki/*']);
    expect(runtime?.servers.map(({ name, entry, tools }) => [name, entry?.runtime, tools.allow])).toEqual([
      ['search', 'http', ['*']],
      ['github', undefined, ['get_issue']],
      ['wiki', undefined, ['*']],
    ]);
  });

  test('may have its servers by name, as in files of desktop clients', async () => {
    const { runtime, shortLines } = await load(`model: google:m
mcpServers:
  files: { command: npx, args: [-y, files], env: { TOKEN: "\${VAULT_TOKEN}" } }
  search: { url: "https://mcp.example.com/mcp", tools: [find] }
  github: { server: github }
tools:
  - { type: MCP, config: { name: k, command: kube } }
  - { name: read, server: files, source: mcp }
  - find
`);
    expect(shortLines).toEqual([]);
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
  ])('does not use disabled tools, as in tools: %s', async (tools, narrowed, deny) => {
    const own = 'mcp_servers: [{ name: files, command: serve }]\n';
    const { runtime, shortLines } = await load(`model: google:m\n${own}tools: ${tools}\n`);
    expect(shortLines).toEqual([]);
    expect(runtime?.tools).toEqual(narrowed);
    expect(runtime?.policy.deny).toEqual(deny);
  });

  test('loads with a warning if it declares a namespace', async () => {
    const { runtime, shortLines } = await load(
      'model: google:m\n',
      head.replace('{ name: a }', '{ name: a, namespace: ops }'),
    );
    expect(shortLines).toEqual([
      'warning: metadata.namespace: has no effect: a gateway has a single namespace',
    ]);
    expect(runtime).toBeDefined();
  });

  test('gets a warning about environment variables if none of its servers can use them', async () => {
    const { shortLines } = await load('model: google:m\nenv: { A: b }\nmcp_servers: [github]\n');
    expect(shortLines).toEqual(['warning: spec.env: has no effect: mcp_servers has no inline local server']);
  });

  const put = 'not built in: add a tool server under mcp_servers, and list its tools here, or omit tools';
  const own = 'mcp_servers: [{ name: files, command: serve }]\n';

  test.each([
    ['tools: [shell, kubectl]', `spec.tools: shell, kubectl are ${put}`],
    [
      `${own}tools: [read_file, shell]`,
      `spec.tools[1]: shell is ${put}; write a tool of a server as files/shell`,
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
      'spec.mcp_servers[1].name: is a duplicate: files',
    ],
    [
      `${own}tools: []`,
      'spec.tools: is empty: remove it to allow all tools, or remove the servers to allow none',
    ],
    ['toolsets: [{ type: mcp, command: npx }]', 'spec.toolsets: use mcp_servers instead'],
    [
      'model_config: { top_p: 0.9 }',
      'spec.model_config.top_p: is not supported for models; supported: temperature, max_tokens, timeout_seconds',
    ],
    [
      'temperature: 1\nmodel_config: { temperature: 0 }',
      'spec.model_config.temperature: duplicates spec.temperature',
    ],
    ['instructions: a\nsystem: b', 'spec.system: means system_prompt, which is also set by instructions'],
    [
      'memory: { messages: 4 }\nmax_context_messages: 5',
      'spec.max_context_messages: means memory.messages, which memory already sets',
    ],
    [
      'triggers: []',
      'spec.triggers: must be in a separate file: write a Trigger with this agent as its default_agent',
    ],
    ['tool_restrictions: {}', 'spec.tool_restrictions: use policy: { deny: […], ask: […] } instead'],
    [
      'shell: {}',
      'spec.shell: is not built in: put the commands into a tool server, and list it under mcp_servers',
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
      'spec.top_p: is not supported for models; supported: temperature, max_tokens, timeout_seconds',
    ],
    ['response_format: json', 'spec.response_format: use output_schema with a JSON Schema instead'],
    ['stream: true', 'spec.stream: has no effect: answers are always streamed; remove it'],
    [
      'mcp_servers: { files: { name: others, command: serve } }',
      'spec.mcp_servers[0]: already has the name files; remove this one, or write the servers as a list',
    ],
    [
      'mcp_servers: { files: }',
      'spec.mcp_servers[0]: needs a command, or a url; for a server of the catalog write - server: files',
    ],
    ['instrutcions: a', 'spec.instrutcions: unknown key; did you mean instructions?'],
    ['memory: { ref: m }', 'spec.memory.ref: unknown key'],
  ])('is refused with %s', async (lines, problem) => {
    const { runtime, shortLines } = await load(`model: google:m\n${lines}\n`);
    expect(shortLines).toEqual([problem]);
    expect(runtime).toBeUndefined();
  });

  test.each([
    ['model: gpt-4', 'spec.model: expected PROVIDER:MODEL, such as google:gemini-2.5-flash, found "gpt-4"'],
    ['provider: google', 'spec.provider: needs a model; or write model: PROVIDER:MODEL'],
    [
      'model: { provider: google }',
      'spec.model: expected PROVIDER:MODEL, such as google:gemini-2.5-flash, or a mapping with provider and name',
    ],
    ['llm: { provider: google }\nmodel: google:m', 'spec.llm: use model: PROVIDER:MODEL instead'],
  ])('is refused with the model %s', async (lines, problem) => {
    const { shortLines } = await load(`${lines}\n`);
    expect(shortLines.filter((line) => !line.startsWith('spec: needs a model or a runtime'))).toEqual([
      problem,
    ]);
  });

  const agentHead =
    'apiVersion: example.com/v1, kind: Agent, metadata: { name: NAME }, and under spec the content';

  test.each([
    [
      'name: a\nmodel: google:m\ninstructions: Be brief.\n',
      `write an agent as ${agentHead} of this document`,
    ],
    [
      'agents: { root: { model: openai/gpt, instruction: Be brief. } }\n',
      `write each agent as a separate document: ${agentHead} below its name`,
    ],
  ])('is refused without apiVersion, kind and metadata, as in %j', async (text, advice) => {
    const { shortLines } = await load('', text);
    expect(shortLines).toEqual([`kind: required, but missing; ${advice}`]);
  });
});
