// `expose: search` at /mcp: three tools replace all others, with the client of the SDK. Calls behave like
// direct calls: progress, structured content, errors.

import { describe, expect, test } from 'vitest';
import { errorOf, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { everythingOverHttp, everythingOverStdio } from '../../fixtures/everything/start.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';

const settings = { expose: 'search' };
const tools = ['echo', 'slow', 'fail', 'refuse', 'rich', 'stats'];

interface FoundTool {
  readonly tools: readonly { readonly name: string; readonly tags?: readonly string[] }[];
  readonly total: number;
}

async function find(client: McpClient, args: Record<string, unknown>): Promise<FoundTool> {
  const { structuredContent } = await client.client.callTool({ name: 'find_tools', arguments: args });
  return structuredContent as unknown as FoundTool;
}

describe('a gateway with expose: search', () => {
  test('lists three tools, by which clients find all other tools and their descriptions', async () => {
    const servers = {
      one: { ...everythingOverStdio({ tools }), tags: ['first'], tools: { deny: ['fail'] } },
      two: everythingOverStdio({ tools }),
    };
    const gateway = await startGateway({ settings, servers });
    const client = await McpClient.connect(`${gateway.url}/mcp`);
    // From now on the SDK validates structured results against the schemas of this list.
    const listed = await client.client.listTools();
    expect(listed.tools.map(({ name }) => name)).toEqual(['find_tools', 'describe_tool', 'call_tool']);
    expect(listed.nextCursor).toBeUndefined();
    const search = await find(client, { query: 'slow' });
    expect(search.tools.slice(0, 2).map(({ name }) => name)).toEqual(['one__slow', 'two__slow']);
    expect((await find(client, { query: '', limit: 50 })).total).toBe(2 * tools.length - 1);
    expect((await find(client, { query: '', tags: ['first'] })).total).toBe(tools.length - 1);
    expect(JSON.stringify(await find(client, { query: 'fail' }))).not.toContain('one__fail');

    const direct = await McpClient.connect(`${gateway.url}/mcp/two`);
    const own = (await direct.client.listTools()).tools;
    expect(own).toHaveLength(tools.length);
    const described = await client.client.callTool({
      name: 'describe_tool',
      arguments: { name: 'two__slow' },
    });
    const slow = own.find(({ name }) => name === 'slow');
    expect(described.structuredContent).toEqual({ tool: { ...slow, name: 'two__slow' } });
  });

  test.each([
    ['stdio', async () => everythingOverStdio({ tools })],
    ['HTTP', async () => ({ url: (await everythingOverHttp({ tools })).url })],
  ])(
    'returns for call_tool over %s the same result, progress and error as for a direct call',
    async (_, server) => {
      const gateway = await startGateway({ settings, servers: { one: await server() } });
      const client = await McpClient.connect(`${gateway.url}/mcp`);
      const direct = await McpClient.connect(`${gateway.url}/mcp/one`);
      for (const [name, args] of [
        ['rich', {}],
        ['refuse', {}],
        ['echo', { deep: [{ name: 'x', arguments: { é: 1 } }] }],
      ] as const) {
        const call = { name: 'call_tool', arguments: { name: `one__${name}`, arguments: args } };
        expect(await client.request('tools/call', call)).toEqual(
          await direct.request('tools/call', { name, arguments: args }),
        );
      }
      const failing = { name: 'call_tool', arguments: { name: 'one__fail' } };
      const { code, message } = await errorOf(direct.request('tools/call', { name: 'fail' }));
      expect(await errorOf(client.request('tools/call', failing))).toMatchObject({ code, message });
      const steps: number[] = [];
      await client.client.callTool(
        { name: 'call_tool', arguments: { name: 'one__slow', arguments: { steps: 3 } } },
        undefined,
        { onprogress: ({ progress }) => steps.push(progress) },
      );
      expect(steps).toEqual([1, 2, 3]);
      // Known names can be called directly.
      expect(await client.call('one__slow', { steps: 1, text: 'here' })).toEqual({ said: 'here' });
    },
  );

  test('returns a result for the model if arguments are invalid, and an error for an invalid cursor', async () => {
    const gateway = await startGateway({ settings, servers: { one: everythingOverStdio({ tools }) } });
    const client = await McpClient.connect(`${gateway.url}/mcp`);
    const result = await client.request('tools/call', {
      name: 'call_tool',
      arguments: { name: 'one__slwo' },
    });
    expect(result).toEqual({
      content: [
        {
          type: 'text',
          text: expect.stringMatching(/^there is no tool "one__slwo"; did you mean one__slow/),
        },
      ],
      isError: true,
    });
    for (const method of ['tools/list', 'prompts/list'])
      expect(await errorOf(client.request(method, { cursor: 'x' }))).toMatchObject({ code: -32602 });
  });

  test('applies new tags by a reload, without restarting the server', async () => {
    const server = everythingOverStdio({ tools });
    const gateway = await startGateway({ settings, servers: { one: server } });
    const client = await McpClient.connect(`${gateway.url}/mcp`);
    const [before] = (await find(client, { query: 'slow' })).tools;
    expect(before?.tags).toBeUndefined();
    const pids = async () => {
      const answer = await fetch(`${gateway.url}/servers/one`);
      return ((await answer.json()) as { pids: number[] }).pids;
    };
    const running = await pids();
    gateway.writeCatalog({ one: { ...server, tags: ['fresh'] } });
    const reloaded = await fetch(`${gateway.url}/admin/reload`, { method: 'POST' });
    expect(await reloaded.json()).toMatchObject({ unchanged: ['one'], changed: [] });
    const [after] = (await find(client, { query: 'slow', tags: ['fresh'] })).tools;
    expect(after?.tags).toEqual(['fresh']);
    expect(running).toHaveLength(1);
    expect(await pids()).toEqual(running);
  });
});
