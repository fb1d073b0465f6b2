// A single server behind /mcp/:id, with the client of the SDK: messages of the server arrive unchanged. Two
// entries use the same kind of server: `shared` for all sessions, `own` with a process per session.

import { beforeAll, describe, expect, test } from 'vitest';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

let gateway: GatewayProcess;
let shared: McpClient;

beforeAll(async () => {
  gateway = await startGateway({
    servers: {
      shared: everythingOverStdio(),
      own: { ...everythingOverStdio(), isolation: 'session' },
      paged: everythingOverStdio({ pageSize: 2 }),
      filtered: {
        ...everythingOverStdio({ pageSize: 5 }),
        tools: { allow: ['e*', 'st*', 'log*'], deny: ['exit', 'log-*'] },
      },
      plain: everythingOverStdio({ without: ['logging', 'completions', 'prompts', 'resources'] }),
    },
  });
  shared = await at('shared');
});

function at(id: string, options?: Parameters<typeof McpClient.connect>[1]): Promise<McpClient> {
  return McpClient.connect(`${gateway.url}/mcp/${id}`, options);
}

describe('initialization with a single server', () => {
  test.each(['shared', 'own'])('the client of %s receives the introduction of the server', async (id) => {
    const { client } = await at(id);
    expect(client.getServerVersion()).toEqual({ name: 'everything', version: '1.2.3', title: 'Everything' });
    expect(client.getInstructions()).toBe('Ask me anything.');
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      logging: {},
      completions: {},
      experimental: { 'x-everything': { depth: 1 } },
    });
  });

  test('the gateway declares only capabilities that the server declares', async () => {
    const { client } = await at('plain');
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      experimental: { 'x-everything': { depth: 1 } },
    });
  });

  test('only a server with a process per session receives the client info', async () => {
    expect(await shared.stats()).toMatchObject({
      clientCapabilities: {},
      clientInfo: { name: 'actor-gateway' },
    });
    const own = await at('own', {
      name: 'fred',
      sample: () => ({}),
      capabilities: { experimental: { x: {} } },
    });
    expect(await own.stats()).toMatchObject({
      clientCapabilities: { sampling: {}, experimental: { x: {} } },
      clientInfo: { name: 'fred', version: '9.9' },
    });
  });
});

describe('lists and contents', () => {
  test('a tool is listed with all its members, including unknown ones', async () => {
    const { tools, ...rest } = (await shared.request('tools/list')) as { tools: Record<string, unknown>[] };
    expect(rest).toEqual({ 'x-page': true });
    expect(tools[0]).toEqual({
      name: 'echo',
      description: 'Returns its arguments.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, 'x-schema-extra': 1 },
      annotations: { readOnlyHint: true },
      _meta: { 'example.com/tool': [1, 2] },
      'x-tool-extra': { kept: true },
    });
    expect(tools.map(({ name }) => name)).toContain('stats');
  });

  test('the tool list is the same whether the server is stopped or running', async () => {
    const sleeper = await at('own');
    const asleep = (await sleeper.request('tools/list')) as { tools: object[] };
    await sleeper.call('echo');
    const awake = (await sleeper.request('tools/list')) as { tools: object[] };
    expect(asleep.tools).toEqual(awake.tools);
    expect(awake['x-page' as keyof typeof awake]).toBe(true);
  });

  test('resources, templates and prompts are listed and read', async () => {
    const { client } = shared;
    const { resources } = (await shared.request('resources/list')) as { resources: { uri: string }[] };
    expect(resources.map(({ uri }) => uri)).toContain('test://static-text');
    expect(resources.at(-1)).toMatchObject({ uri: 'everything://own', 'x-resource-extra': [1] });
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates[0]?.uriTemplate).toBe('test://template/{id}/data');
    const resource = await client.readResource({ uri: 'test://template/7/data' });
    expect(resource.contents[0]).toMatchObject({
      uri: 'test://template/7/data',
      mimeType: 'application/json',
    });
    const { prompts } = await shared.request('prompts/list');
    expect(prompts).toMatchObject([{ name: 'greet', 'x-prompt-extra': true }]);
    const prompt = await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } });
    expect(prompt.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello Ada' } }]);
  });

  test('completion, ping and log level are answered', async () => {
    const ref = { type: 'ref/prompt' as const, name: 'greet' };
    const { completion } = await shared.client.complete({ ref, argument: { name: 'who', value: 'A' } });
    expect(completion).toEqual({ values: ['A1', 'A2', JSON.stringify(ref)], total: 3, hasMore: false });
    expect(await shared.client.ping()).toEqual({});
    const own = await at('own');
    expect(await own.client.setLoggingLevel('warning')).toEqual({});
    expect(await own.stats()).toMatchObject({ level: 'warning' });
  });

  test('a client receives the pages and cursors of the server unchanged', async () => {
    const paged = await at('paged');
    await paged.call('echo');
    const names: string[] = [];
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await paged.client.listTools(cursor === undefined ? {} : { cursor });
      names.push(...page.tools.map(({ name }) => name));
      sizes.push(page.tools.length);
      cursor = page.nextCursor;
      if (cursor !== undefined) expect(cursor).toMatch(/^p:\d+\/"é"$/);
    } while (cursor !== undefined);
    expect(Math.max(...sizes)).toBe(2);
    const all = await shared.client.listTools();
    const untouched = all.tools.map(({ name }) => name).filter((name) => !name.startsWith('added'));
    expect(names).toEqual(untouched);
    const error = await errorOf(paged.client.listTools({ cursor: 'p:none' }));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('none of mine') });
  });
});

describe('calls', () => {
  test('results keep members and _meta unknown to the gateway', async () => {
    const result = await shared.request('tools/call', {
      name: 'rich',
      arguments: {},
      _meta: { 'example.com/asked': { id: 1 } },
    });
    expect(result).toEqual({
      content: [{ type: 'text', text: 'rich', _meta: { a: 1 } }],
      structuredContent: { answer: 42 },
      'x-result-extra': { deep: [{ id: 'not an id' }, { progressToken: 'no token' }] },
      _meta: { 'example.com/result': true, received: { 'example.com/asked': { id: 1 } } },
    });
  });

  test('a tool result with isError is forwarded as a result, not as a JSON-RPC error', async () => {
    expect(await shared.client.callTool({ name: 'refuse' })).toEqual({
      content: [{ type: 'text', text: 'it did not work' }],
      isError: true,
    });
  });

  test.each([
    { code: -32002, message: 'It is gone', data: { uri: 'x://y', list: [1, null] } },
    {
      code: -32042,
      message: 'Look here',
      data: { elicitations: [{ mode: 'url', elicitationId: 'e1', url: 'https://a.b' }] },
    },
    { code: 4711, message: 'ünïcode "quoted"\n', data: 'text' },
    { code: -32001, message: 'not the gateway', data: null },
    { code: -32601, message: 'from inside', data: [] },
  ])('a JSON-RPC error $code of the server reaches the client with its message and data', async (fault) => {
    const error = await errorOf(shared.request('tools/call', { name: 'fail', arguments: fault }));
    expect(error).toMatchObject({ code: fault.code, message: expect.stringContaining(fault.message) });
    expect(error.data).toEqual(fault.data);
  });

  test('a request with an unknown method is forwarded with all params', async () => {
    const params = { deep: { id: 5, progressToken: 6 }, list: [null, 'ü'], cursor: 'c' };
    expect(await shared.request('x-vendor/do.it', params)).toEqual({ heard: 'x-vendor/do.it', params });
    expect(await shared.request('tasks/list')).toMatchObject({ heard: 'tasks/list' });
  });

  test('all progress notifications arrive, with the token of the client', async () => {
    const call = async (text: string) => {
      const steps: unknown[] = [];
      const result = await shared.client.callTool(
        { name: 'slow', arguments: { steps: 20, ms: 3, text: text } },
        undefined,
        { onprogress: (progress) => steps.push(progress) },
      );
      return { seen: steps, result };
    };
    const both = await Promise.all([call('a'), call('b')]);
    for (const [index, { seen }] of both.entries()) {
      const text = 'ab'[index];
      expect(seen).toEqual(
        Array.from({ length: 20 }, (_, n) => ({ progress: n + 1, total: 20, message: `${text} ${n + 1}` })),
      );
    }
  });

  test('progress notifications written in one burst with the response all arrive', async () => {
    const steps: unknown[] = [];
    await shared.client.callTool({ name: 'slow', arguments: { steps: 150, ms: 0 } }, undefined, {
      onprogress: (progress) => steps.push(progress.progress),
    });
    expect(steps).toEqual(Array.from({ length: 150 }, (_, n) => n + 1));
  });

  test('a cancellation reaches only the cancelled call at the server', async () => {
    const cancelling = await at('own');
    const stop = new AbortController();
    const params = { name: 'slow', arguments: { steps: 1000, ms: 20 } };
    const cut = errorOf(cancelling.client.callTool(params, undefined, { signal: stop.signal }));
    const short = cancelling.call('slow', { steps: 10, ms: 20, text: 'goes on' });
    await eventually('both calls', async () => (await cancelling.stats()).calls.length >= 3);
    stop.abort('changed my mind');
    expect((await cut).message).toContain('changed my mind');
    const { cancelled } = await eventually('the cancellation', async () => {
      const stats = await cancelling.stats();
      return stats.cancelled.length > 0 && stats;
    });
    expect(cancelled).toEqual(['changed my mind']);
    expect(await short).toMatchObject({ said: 'goes on' });
  });

  test('a long answer arrives whole', async () => {
    const text = await shared.call('big', { bytes: 3_000_000 });
    expect(text).toBe('x'.repeat(3_000_000));
  });

  test('a message above limits.message_bytes fails only the call it belongs to', async () => {
    const [error, beside] = await Promise.all([
      errorOf(shared.call('big', { bytes: 17_000_000 })),
      shared.call('echo', { text: 'beside' }),
    ]);
    expect(error.message).toContain('limits.message_bytes');
    expect(beside).toEqual({ text: 'beside' });
    expect(await shared.call('echo', { text: 'after' })).toEqual({ text: 'after' });
  });
});

describe('tools filtered by the catalog', () => {
  test('are on no page of the tool list, and the other tools stay listed in order', async () => {
    const filtered = await at('filtered');
    await fetch(`${gateway.url}/servers/filtered/stop`, { method: 'POST' });
    const asleep = (await filtered.request('tools/list')) as { tools: { name: string }[] };
    expect(asleep.tools.map(({ name }) => name)).toEqual(['echo', 'log', 'elicit', 'stats']);
    await filtered.call('echo');
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await filtered.request('tools/list', cursor === undefined ? {} : { cursor });
      expect(page['x-page']).toBe(true);
      names.push(...(page.tools as { name: string }[]).map(({ name }) => name));
      cursor = page.nextCursor as string | undefined;
    } while (cursor !== undefined);
    expect(names).toEqual(['echo', 'log', 'elicit', 'stats']);
  });

  test.each(['exit', 'log-unbidden', 'big'])('%s cannot be called', async (name) => {
    const filtered = await at('filtered');
    const error = await errorOf(filtered.call(name));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(`Unknown tool: ${name}`) });
    expect((await filtered.stats()).calls).not.toContain(name);
  });
});
