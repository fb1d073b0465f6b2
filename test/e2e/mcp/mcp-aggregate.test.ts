// All servers behind /mcp, with the client of the SDK: prefixed names, merged lists, routing by name, URI,
// template and reference, and the lists of servers that are stopped, failed, hanging or slow.

import { describe, expect, test } from 'vitest';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { rpc } from '../../fixtures/clients/raw-session.ts';
import { everythingOverHttp, everythingOverStdio } from '../../fixtures/everything/start.ts';
import {
  type GatewayProcess,
  type GatewaySetup,
  startGateway,
} from '../../fixtures/gateway/gateway-process.ts';

const few = ['echo', 'stats', 'slow', 'fail', 'touch', 'update'];
const changed = 'notifications/tools/list_changed';

async function all(gateway: GatewayProcess): Promise<McpClient> {
  return McpClient.connect(`${gateway.url}/mcp`);
}

async function names(client: McpClient): Promise<string[]> {
  return (await client.client.listTools()).tools.map(({ name }) => name);
}

async function stateOf(gateway: GatewayProcess, id: string): Promise<{ state: string; pids: number[] }> {
  const answer = await fetch(`${gateway.url}/servers/${id}`);
  return (await answer.json()) as { state: string; pids: number[] };
}

async function stop(gateway: GatewayProcess, id: string): Promise<void> {
  expect((await fetch(`${gateway.url}/servers/${id}/stop`, { method: 'POST' })).status).toBe(200);
}

describe('names in the merged tool list', () => {
  const long = 'l'.repeat(60);
  const tools = [...few, 'log-unbidden'];
  const setup: GatewaySetup = {
    servers: {
      alpha: everythingOverStdio({ name: 'alpha', tools }),
      'be.ta': everythingOverStdio({ name: 'beta', tools }),
      [long]: everythingOverStdio({ name: 'long', tools: ['echo', 'stats'] }),
      // Splitting `a__b__stats` at the first separator would find the wrong server.
      a: everythingOverStdio({ name: 'a', tools: ['stats'] }),
      a__b: everythingOverStdio({ name: 'ab', tools: ['stats'] }),
      off: { ...everythingOverStdio(), enabled: false },
    },
  };

  test('have the form server__tool, are valid for model APIs, and route to the tool', async () => {
    const gateway = await startGateway(setup);
    const client = await all(gateway);
    const listed = await names(client);
    expect(listed.slice(0, tools.length)).toEqual(
      ['echo', 'slow', 'log-unbidden', 'touch', 'update', 'fail', 'stats'].map((name) => `alpha__${name}`),
    );
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed).toHaveLength(2 * tools.length + 4);
    for (const name of listed) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    const servers = await Promise.all(
      listed
        .filter((name) => /stats/.test(name) || name.startsWith('llll'))
        .map((name) => client.request('tools/call', { name, arguments: { said: name } })),
    );
    expect(servers).toHaveLength(6);
    const beta = listed.find((name) => name.startsWith('be_ta__stats')) as string;
    const [longEcho, longStats] = listed.filter((name) => name.startsWith('llll')) as [string, string];
    const pids = new Set<number>();
    for (const name of ['alpha__stats', beta, longStats, 'a__stats', 'a__b__stats'])
      pids.add((await client.stats(name)).pid);
    expect(pids.size).toBe(5);
    expect(await client.call(longEcho, { text: 'long' })).toEqual({ text: 'long' });
    for (const [name, id] of [
      ['a__stats', 'a'],
      ['a__b__stats', 'a__b'],
      [beta, 'be.ta'],
    ] as const)
      expect((await stateOf(gateway, id)).pids).toEqual([(await client.stats(name)).pid]);
    expect(await names(await all(gateway))).toEqual(listed);

    for (const unknown of ['echo', 'alpha__none', 'none__echo', 'off__echo', 'be.ta__echo', 'toString', ''])
      expect(await errorOf(client.call(unknown)), unknown).toMatchObject({ code: -32602 });

    // The next gateway with the same state has the same names, before any server starts.
    await gateway.stop();
    const later = await startGateway({ ...setup, folder: gateway.folder });
    expect(await names(await all(later))).toEqual(listed);
    for (const id of ['alpha', 'be.ta', long, 'a', 'a__b'])
      expect((await stateOf(later, id)).state).toBe('stopped');
  });
});

describe('one address for two servers', () => {
  let gateway: GatewayProcess;
  const start = async () => {
    gateway ??= await startGateway({
      servers: {
        alpha: everythingOverStdio({ name: 'alpha', tools: few }),
        beta: { ...everythingOverStdio({ name: 'beta', tools: few }), isolation: 'session' },
        gamma: {
          url: (await everythingOverHttp({ name: 'gamma', tools: few, pageSize: 2 })).url,
          tools: { deny: ['s*'] },
        },
      },
    });
    return all(gateway);
  };

  test('declares the capabilities of both servers in its initialize response', async () => {
    const { client } = await start();
    expect(client.getServerVersion()?.name).toBe('actor-gateway');
    expect(client.getServerCapabilities()).toEqual({
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      logging: {},
      completions: {},
    });
    expect(await client.ping()).toEqual({});
  });

  test('merges the lists with all pages, and applies the filters', async () => {
    const client = await start();
    const tools = await names(client);
    expect(tools).toEqual([
      ...['alpha', 'beta'].flatMap((id) =>
        ['echo', 'slow', 'touch', 'update', 'fail', 'stats'].map((name) => `${id}__${name}`),
      ),
      ...['echo', 'touch', 'update', 'fail'].map((name) => `gamma__${name}`),
    ]);
    expect(await errorOf(client.call('gamma__stats'))).toMatchObject({ code: -32602 });
    expect(await errorOf(client.client.listTools({ cursor: 'x' }))).toMatchObject({ code: -32602 });
    const first = (await client.request('tools/list')).tools as object[];
    expect(first[0]).toEqual({
      name: 'alpha__echo',
      description: 'Returns its arguments.',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, 'x-schema-extra': 1 },
      annotations: { readOnlyHint: true },
      _meta: { 'example.com/tool': [1, 2] },
      'x-tool-extra': { kept: true },
    });
    const { prompts } = await client.client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['alpha__greet', 'beta__greet', 'gamma__greet']);
    const { resources } = await client.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      ...['test://static-text', 'test://static-binary', 'test://watched-resource', 'alpha://own'],
      ...['test://beta~/static-text', 'test://beta~/static-binary', 'test://beta~/watched-resource'],
      'beta://own',
      ...['test://gamma~/static-text', 'test://gamma~/static-binary', 'test://gamma~/watched-resource'],
      'gamma://own',
    ]);
    const { resourceTemplates } = await client.client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      ...['test://template/{id}/data', 'alpha://item/{id}'],
      ...['test://beta~/template/{id}/data', 'beta://item/{id}'],
      ...['test://gamma~/template/{id}/data', 'gamma://item/{id}'],
    ]);
  });

  test('routes resources by URI and by template', async () => {
    const client = await start();
    const alpha = (await client.stats('alpha__stats')).session;
    const beta = (await client.stats('beta__stats')).session;
    const readText = async (uri: string) => {
      const [content] = (await client.client.readResource({ uri })).contents as { text: string }[];
      return content?.text;
    };
    expect(await readText('alpha://own')).toBe(`This is the content of alpha://own in session ${alpha}`);
    expect(await readText('beta://own')).toContain(beta);
    expect(await readText('beta://item/7')).toContain(beta);
    expect(await readText('gamma://item/7')).toContain('gamma://item/7');
    // All servers have it. The first in the catalog answers.
    expect(await readText('test://static-text')).toContain(alpha);
    expect(await readText('test://beta~/static-text')).toContain(beta);
    const error = await errorOf(readText('test://missing'));
    expect(error).toMatchObject({ code: -32002, data: { uri: 'test://missing' } });
  });

  test('routes prompts and completions, with the original names for the server', async () => {
    const { client } = await start();
    const prompt = await client.getPrompt({ name: 'beta__greet', arguments: { who: 'Bo' } });
    expect(prompt.messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Hello Bo' } }]);
    const completed = async (
      ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
    ) =>
      JSON.parse(
        (await client.complete({ ref, argument: { name: 'who', value: 'B' } })).completion.values[2] ?? '',
      );
    expect(await completed({ type: 'ref/prompt', name: 'gamma__greet' })).toEqual({
      type: 'ref/prompt',
      name: 'greet',
    });
    const template = { type: 'ref/resource' as const, uri: 'beta://item/{id}' };
    expect(await completed(template)).toEqual(template);
    for (const wrong of ['greet', 'delta__greet', 'gamma__none'])
      expect(await errorOf(completed({ type: 'ref/prompt', name: wrong }))).toMatchObject({ code: -32602 });
    expect(await errorOf(client.getPrompt({ name: 'greet' }))).toMatchObject({ code: -32602 });
  });

  test('forwards progress, cancellation and errors unchanged', async () => {
    const client = await start();
    const progress: unknown[] = [];
    await Promise.all(
      ['alpha', 'beta'].map((id) =>
        client.client.callTool({ name: `${id}__slow`, arguments: { steps: 5, ms: 2, text: id } }, undefined, {
          onprogress: ({ message }) => progress.push(message),
        }),
      ),
    );
    expect(progress.sort()).toEqual(
      ['alpha', 'beta'].flatMap((id) => [1, 2, 3, 4, 5].map((n) => `${id} ${n}`)),
    );
    const error = await errorOf(client.call('beta__fail', { code: 4711, data: { deep: [1] } }));
    expect(error).toMatchObject({ code: 4711, data: { deep: [1] } });
    const stopping = new AbortController();
    const cut = errorOf(
      client.client.callTool({ name: 'beta__slow', arguments: { steps: 1000 } }, undefined, {
        signal: stopping.signal,
      }),
    );
    await eventually('the call', async () => (await client.stats('beta__stats')).calls.at(-2) === 'slow');
    stopping.abort('enough');
    await cut;
    await eventually(
      'the cancellation',
      async () => (await client.stats('beta__stats')).cancelled.length === 1,
    );
  });

  test('sets the log level at all running servers, and at stopped servers when they start', async () => {
    const client = await start();
    const fresh = await start();
    await client.call('alpha__echo');
    await client.client.setLoggingLevel('critical');
    expect((await client.stats('alpha__stats')).level).toBe('critical');
    expect((await client.stats('beta__stats')).level).toBe('critical');
    expect((await fresh.stats('beta__stats')).level).toBe(undefined);
    await fresh.client.setLoggingLevel('notice');
    expect((await fresh.stats('beta__stats')).level).toBe('notice');
    expect((await client.stats('beta__stats')).level).toBe('critical');
    expect(await errorOf(client.request('logging/setLevel', { level: 'loud' }))).toMatchObject({
      code: -32602,
    });
  });

  test('subscribes by URI and forwards updates', async () => {
    const [client, other] = [await start(), await start()];
    await client.client.subscribeResource({ uri: 'alpha://own' });
    await client.client.subscribeResource({ uri: 'beta://own' });
    await other.call('alpha__update', { uri: 'alpha://own' });
    await client.call('beta__update', { uri: 'beta://own' });
    const uris = () =>
      client.notes.filter(({ method }) => method.endsWith('/updated')).map(({ params }) => params?.uri);
    await eventually('both', () => uris().length === 2);
    expect(uris().sort()).toEqual(['alpha://own', 'beta://own']);
    expect(other.notes.filter(({ method }) => method.endsWith('/updated'))).toEqual([]);
    await client.client.unsubscribeResource({ uri: 'alpha://own' });
    expect((await other.stats('alpha__stats')).subscribed).toEqual([]);
  });

  test('lists a stopped server, and starts it when it is called', async () => {
    const client = await start();
    const before = await names(client);
    await client.call('alpha__echo');
    await stop(gateway, 'alpha');
    expect((await stateOf(gateway, 'alpha')).state).toBe('stopped');
    expect(await names(client)).toEqual(before);
    expect((await stateOf(gateway, 'alpha')).state).toBe('stopped');
    expect(await client.call('alpha__echo', { text: 'awake' })).toEqual({ text: 'awake' });
    expect((await stateOf(gateway, 'alpha')).state).toBe('running');
  });

  test('rejects an unknown method with error −32601', async () => {
    expect(await errorOf((await start()).request('x-vendor/do'))).toMatchObject({ code: -32601 });
  });
});

describe('servers with slow lists', () => {
  test('delay the merged list by at most list_timeout_seconds, and are added later', async () => {
    const gateway = await startGateway({
      settings: { list_timeout_seconds: 2 },
      servers: {
        good: everythingOverStdio({ tools: ['echo'] }),
        late: everythingOverStdio({ tools: ['echo'], listDelayMs: 5000 }),
        broken: { command: process.execPath, args: ['-e', 'process.exit(7)'] },
        hangs: {
          command: process.execPath,
          args: ['-e', 'setInterval(() => {}, 1000)'],
          start_timeout_seconds: 20,
        },
      },
    });
    // The tools of this server are listed in time, however slowly processes start.
    expect((await rpc(gateway.url, 'good', 'tools/list')).status).toBe(200);
    const client = await all(gateway);
    const began = performance.now();
    expect(await names(client)).toEqual(['good__echo']);
    // The hanging start has twenty seconds.
    expect(performance.now() - began).toBeLessThan(10_000);
    // The hanging server delays no request after the timeout.
    const secondStart = performance.now();
    expect(await names(client)).toEqual(['good__echo']);
    expect(performance.now() - secondStart).toBeLessThan(1800);
    client.notes.length = 0;
    await eventually('the late server', () => client.count(changed) > 0);
    expect(await names(client)).toEqual(['good__echo', 'late__echo']);
    expect(await client.call('late__echo', { text: 'now' })).toEqual({ text: 'now' });
  });
});
