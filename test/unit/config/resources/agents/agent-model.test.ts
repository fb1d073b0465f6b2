// Agents with a model: fields, defaults and refused values.

import { describe, expect, test } from 'vitest';
import { SecretValues } from '../../../../../config/reader/secret-values.ts';
import type { ModelRuntime } from '../../../../../config/resources/agents/model-runtime.ts';
import { readDefinition } from '../../../../../config/resources/agents/read-definition.ts';
import { ResourceFolder } from '../resource-folder.ts';

const folder = new ResourceFolder();

const keys = { GEMINI_API_KEY: 'the-gemini-key', ANTHROPIC_API_KEY: 'the-anthropic-key' };
const head = 'apiVersion: example.com/v1\nkind: Agent\nmetadata: { name: a }\nspec:\n';

async function load(spec: string, env: Readonly<Record<string, string>> = {}, options = {}) {
  const file = folder.write('a.yaml', head + spec.replace(/^(?=.)/gm, '  '));
  const loaded = await folder.load({ files: [file], env: { ...keys, ...env }, ...options });
  const runtime = loaded.agents[0]?.runtime;
  return { ...loaded, file, runtime: runtime?.kind === 'model' ? runtime : undefined };
}

const allFields = `model: google:gemini-2.5-flash
fallback: [anthropic:claude-sonnet-4]
system_prompt: You look after the \${SHOP}.
temperature: 0.2
max_tokens: 2000
max_iterations: 7
timeout_seconds: 60
retries: 1
env: { REGION: north }
mcp_servers:
  - { name: files, command: ./serve, args: [/srv], cwd: sub, env: { TOKEN: "\${TOKEN}" }, inherit_env: [HOME], tools: { allow: ["read_*"] }, request_timeout_seconds: 5 }
  - { server: github, tools: { deny: [merge_pull_request] } }
  - search
  - { name: web, url: "https://mcp.example.com/mcp", headers: { Authorization: "Bearer \${TOKEN}" } }
  - { name: off, command: x, enabled: false }
tools: [read_file, github/get_issue]
policy: { deny: ["*delete*"], ask: [pay, destructive], approvers: [ada], approval_channel: "#ops", self_approval: true }
interrupted_calls: fail
memory: { messages: 10 }
output_schema: { type: object, properties: { severity: { type: string, enum: [low, high] } }, required: [severity] }
budget: { tokens: 200000, tool_calls: 50, cost: 1.5 }
`;

test.each([
  ['model: google:gemini-2.5-flash', 'markdown'],
  ['model: google:gemini-2.5-flash\nformat: native', 'native'],
  ['runtime: { http: { url: "http://127.0.0.1:9/" } }\nformat: plain', 'plain'],
])('an agent with %j has the form %s of its answers', async (spec, format) => {
  const { agents, lines } = await load(spec);
  expect([agents[0]?.format, lines]).toEqual([format, []]);
});

describe('an agent with a model', () => {
  test('accepts every field', async () => {
    const { runtime, lines, secrets } = await load(allFields, {
      SHOP: 'book shop',
      TOKEN: 'the-token-of-it',
    });
    expect(lines).toEqual([]);
    const { servers = [], definition = '', ...rest } = runtime ?? ({} as Partial<ModelRuntime>);
    expect(rest).toEqual({
      kind: 'model',
      models: [
        { provider: 'google', model: 'gemini-2.5-flash' },
        { provider: 'anthropic', model: 'claude-sonnet-4' },
      ],
      system_prompt: 'You look after the book shop.',
      temperature: 0.2,
      max_tokens: 2000,
      max_iterations: 7,
      timeout_seconds: 60,
      retries: 1,
      tools: ['read_file', 'github/get_issue'],
      policy: {
        deny: ['*delete*'],
        ask: ['pay', 'destructive'],
        approvers: ['ada'],
        approval_channel: '#ops',
        approval_timeout_seconds: 86_400,
        self_approval: true,
      },
      interrupted_calls: 'fail',
      memory: { messages: 10, characters: 32_768 },
      output_schema: {
        type: 'object',
        properties: { severity: { type: 'string', enum: ['low', 'high'] } },
        required: ['severity'],
      },
      budget: { tokens: 200_000, tool_calls: 50, cost: 1.5 },
    });
    expect(servers.map(({ name }) => name)).toEqual(['files', 'github', 'search', 'web']);
    expect(servers[0]).toMatchObject({
      tools: { allow: ['read_*'], deny: [] },
      entry: {
        runtime: 'stdio',
        command: `${folder.path}/serve`,
        args: ['/srv'],
        cwd: `${folder.path}/sub`,
        env: { REGION: 'north', TOKEN: 'the-token-of-it' },
        inherit_env: ['HOME'],
        request_timeout_seconds: 5,
        idle_timeout_seconds: 300,
        isolation: 'shared',
      },
    });
    expect(servers[1]).toEqual({
      name: 'github',
      entry: undefined,
      tools: { allow: ['*'], deny: ['merge_pull_request'] },
    });
    expect(servers[3]?.entry).toMatchObject({
      runtime: 'http',
      isolation: 'shared',
      headers: { Authorization: 'Bearer the-token-of-it' },
    });
    expect(secrets).toContain('the-token-of-it');
    expect(definition).not.toContain('the-token-of-it');
  });

  test('gets every default if only its model is set', async () => {
    const { runtime, lines } = await load('model: google:gemini-2.5-flash');
    expect(lines).toEqual([]);
    expect(runtime).toEqual({
      kind: 'model',
      models: [{ provider: 'google', model: 'gemini-2.5-flash' }],
      system_prompt: '',
      temperature: undefined,
      max_tokens: undefined,
      max_iterations: 20,
      timeout_seconds: 300,
      retries: 3,
      servers: [],
      tools: [],
      policy: {
        deny: [],
        ask: [],
        approvers: [],
        approval_channel: undefined,
        approval_timeout_seconds: 86_400,
        self_approval: false,
      },
      interrupted_calls: 'tell',
      memory: { messages: 40, characters: 32_768 },
      output_schema: undefined,
      budget: { tokens: undefined, tool_calls: undefined, cost: undefined },
      definition: '{"model":"google:gemini-2.5-flash"}',
    });
  });

  test('has a stored definition that is read with the current values of variables', async () => {
    const { runtime, file } = await load(allFields, { SHOP: 'book shop', TOKEN: 'the-token-of-it' });
    const again = (env: Readonly<Record<string, string>>) =>
      readDefinition(runtime?.definition ?? '', env, new SecretValues(), file);
    expect(again({ SHOP: 'book shop', TOKEN: 'the-token-of-it' })).toEqual(runtime);
    expect(again({ SHOP: 'toy shop', TOKEN: 'another-token' }).system_prompt).toBe(
      'You look after the toy shop.',
    );
    expect(() => again({ SHOP: 'toy shop' })).toThrow(/the environment variable TOKEN is not set/);
    expect(() => readDefinition('{', {}, new SecretValues(), file)).toThrow(/cannot be read/);
  });
});

describe('an output_schema', () => {
  test.each([
    ['[]', 'should be a JSON Schema with type: object, since an answer is one JSON object'],
    ['{ type: string }', 'should be a JSON Schema with type: object, since an answer is one JSON object'],
    ['{ type: object, properties: { a: { type: text } } }', /properties\.a\.type: should be one of object, /],
    ['{ type: object, properties: { a: { $ref: b } } }', /properties\.a\["\$ref"\]: is not supported: write/],
    ['{ type: object, properties: { a: { pattern: "(" } } }', /a\.pattern: is not a regular expression/],
    ['{ type: object, required: a }', 'required: should be a list of names'],
  ])('refuses %s', async (schema, problem) => {
    const { errors } = await load(`model: google:m\noutput_schema: ${schema}\n`);
    expect(errors).toHaveLength(1);
    const text = errors[0]?.replace(/^.*?output_schema[.:] ?/, '');
    if (typeof problem === 'string') expect(text).toBe(problem);
    else expect(text).toMatch(problem);
  });
});
