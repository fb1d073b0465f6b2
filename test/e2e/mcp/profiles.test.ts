// Profiles at /mcp/@NAME, on real servers: lists, calls, refusals and notifications in both eras, changes by
// a reload, statistics, and profiles served by gateway-stdio.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { listenAsk, modern, modernStream, resultOf, toolCall } from '../../fixtures/clients/modern-client.ts';
import { RawSession } from '../../fixtures/clients/raw-session.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { configured, StdioClient } from '../../fixtures/gateway/stdio-gateway.ts';

const tools = ['echo', 'stats', 'touch', 'update'];
const changed = 'notifications/tools/list_changed';
const updated = 'notifications/resources/updated';

const servers = {
  alpha: { ...everythingOverStdio({ name: 'alpha', tools }), tags: ['work'] },
  beta: { ...everythingOverStdio({ name: 'beta', tools }), isolation: 'session', tags: ['home'] },
  gamma: { ...everythingOverStdio({ name: 'gamma', tools }), tags: ['home'] },
};

const profiles = {
  work: { tags: ['work'] },
  home: { servers: ['beta'], tags: ['home'], tools: ['echo', 'gamma__s*'] },
  every: {},
};

async function names(client: McpClient): Promise<string[]> {
  return (await client.client.listTools()).tools.map(({ name }) => name);
}

interface Stats {
  requests: { total: number };
  profiles: Record<'work' | 'home', { requests: { total: number } }>;
}

async function json<T>(url: string, init?: RequestInit): Promise<T> {
  return (await (await fetch(url, init)).json()) as T;
}

function rewrite({ folder }: GatewayProcess, change: (settings: Record<string, unknown>) => void): void {
  const file = join(folder, 'gateway.yaml');
  const settings = JSON.parse(readFileSync(file, 'utf8'));
  change(settings);
  writeFileSync(file, JSON.stringify(settings));
}

const reload = ({ url }: GatewayProcess) =>
  json<{ problems: string[] }>(`${url}/admin/reload`, { method: 'POST' });

describe.each(httpEnginesInTurn)('profiles over %s', (http) => {
  let running: Promise<GatewayProcess> | undefined;
  const started = () => {
    running ??= startGateway({ servers, settings: { profiles }, http });
    return running;
  };

  test('a profile endpoint lists only tools of its servers, and other servers cannot be called', async () => {
    const gateway = await started();
    const [work, home] = [
      await McpClient.connect(`${gateway.url}/mcp/@work`),
      // Some clients encode the address like this.
      await McpClient.connect(`${gateway.url}/mcp/%40home`),
    ];
    expect(await names(work)).toEqual(['echo', 'touch', 'update', 'stats'].map((name) => `alpha__${name}`));
    // The other servers were not started.
    const { servers: states } = await json<{ servers: { id: string; state: string }[] }>(
      `${gateway.url}/servers`,
    );
    expect(states.map(({ id, state }) => [id, state !== 'stopped'])).toEqual([
      ['alpha', true],
      ['beta', false],
      ['gamma', false],
    ]);
    expect(await names(home)).toEqual(['beta__echo', 'gamma__echo', 'gamma__stats']);
    const uris = (await work.client.listResources()).resources.map(({ uri }) => uri);
    expect(uris).toContain('alpha://own');
    expect(uris).not.toContain('beta://own');
    expect((await home.client.listPrompts()).prompts.map(({ name }) => name)).toEqual([
      'beta__greet',
      'gamma__greet',
    ]);
    expect(await home.call('beta__echo', { text: 'hi' })).toEqual({ text: 'hi' });
    const { client: later } = await McpClient.connect(`${gateway.url}/mcp/@work`);
    expect(later.getInstructions()).toContain('# alpha');
    expect(later.getInstructions()).not.toContain('# beta');

    const nobodys = await errorOf(work.call('nobody__has'));
    for (const outside of ['beta__echo', 'gamma__stats']) {
      const error = await errorOf(work.call(outside));
      expect([error.code, error.message]).toEqual([
        nobodys.code,
        nobodys.message.replace('nobody__has', outside),
      ]);
    }
    for (const hidden of ['beta__stats', 'gamma__touch'])
      expect(await errorOf(home.call(hidden))).toMatchObject({ code: -32602 });
    const uri = 'test://missing';
    expect(await errorOf(home.client.readResource({ uri }))).toMatchObject({ code: -32002, data: { uri } });
    const outside = { uri: 'alpha://own' };
    expect(await errorOf(home.client.subscribeResource(outside))).toMatchObject({ code: -32002 });
    expect(await errorOf(work.client.getPrompt({ name: 'beta__greet' }))).toMatchObject({ code: -32602 });
    const ref = { type: 'ref/prompt' as const, name: 'beta__greet' };
    expect(await errorOf(work.client.complete({ ref, argument: { name: 'who', value: 'B' } }))).toMatchObject(
      { code: -32602 },
    );
    // The names are the same as at /mcp.
    const all = await names(await McpClient.connect(`${gateway.url}/mcp`));
    expect(all).toEqual(expect.arrayContaining([...(await names(work)), ...(await names(home))]));
    expect(await names(await McpClient.connect(`${gateway.url}/mcp/@every`))).toEqual(all);
  });

  test('a session of a profile is unknown at other endpoints, and an unknown profile returns the list of profiles', async () => {
    const gateway = await started();
    const session = await RawSession.open(gateway.url, '/mcp/@work');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    for (const path of ['/mcp', '/mcp/@home', '/mcp/alpha'])
      for (const method of ['POST', 'GET', 'DELETE']) {
        const answer = await fetch(gateway.url + path, {
          method,
          headers: session.headers,
          ...(method === 'POST' ? { body } : {}),
        });
        expect([path, method, answer.status]).toEqual([path, method, 404]);
        await answer.text();
      }
    expect((await session.request('tools/list')).error).toBeUndefined();
    for (const method of ['POST', 'GET', 'DELETE']) {
      const answer = await fetch(`${gateway.url}/mcp/@wrok`, {
        method,
        headers: session.headers,
        ...(method === 'POST' ? { body } : {}),
      });
      expect(answer.status).toBe(404);
      expect(((await answer.json()) as { error: { message: string } }).error.message).toBe(
        'there is no profile "wrok"; there are work, home, every',
      );
    }
    expect(await session.end()).toBe(204);
    expect((await session.request('tools/list')).status).toBe(404);
  });

  test('a client without a session has access to the servers of a profile only, and receives only their changes', async () => {
    const gateway = await started();
    const [work, home] = [`${gateway.url}/mcp/@work`, `${gateway.url}/mcp/@home`];
    const { result } = await modern(home, { method: 'tools/list' });
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual([
      'beta__echo',
      'gamma__echo',
      'gamma__stats',
    ]);
    expect((await modern(work, { method: 'server/discover' })).result.instructions).not.toContain('# gamma');
    expect(resultOf(await modern(home, toolCall('gamma__echo', { text: 'x' })))).toEqual({ text: 'x' });
    expect((await modern(work, toolCall('gamma__echo'))).error).toMatchObject({
      code: -32602,
      message: 'Unknown tool: gamma__echo',
    });
    const request = { method: 'resources/read', params: { uri: 'test://missing' } };
    expect((await modern(home, request)).error).toMatchObject({
      code: -32602,
      message: 'Resource not found',
    });
    const listening = modernStream(
      home,
      listenAsk({ toolsListChanged: true, resourceSubscriptions: ['alpha://own', 'gamma://own'] }),
    );
    await listening.until('the acknowledgement', ({ messages }) => messages.length > 0);
    expect(listening.messages[0]?.json.params.notifications).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ['gamma://own'],
    });
    const other = await McpClient.connect(`${gateway.url}/mcp`);
    await other.client.subscribeResource({ uri: 'alpha://own' });
    await other.call('alpha__update', { uri: 'alpha://own' });
    await eventually('the other client', () => other.count(updated) > 0);
    await other.call('gamma__update', { uri: 'gamma://own' });
    await listening.until('the update', ({ messages }) => messages.length > 1);
    expect(listening.messages[1]?.json.params.uri).toBe('gamma://own');
    listening.drop();
  });
});

describe('a reload that changes profiles', () => {
  test('notifies the clients, ends sessions of removed profiles, and keeps statistics per profile', async () => {
    const gateway = await startGateway({ servers, settings: { profiles } });
    const [work, home, every] = [
      await McpClient.connect(`${gateway.url}/mcp/@work`),
      await McpClient.connect(`${gateway.url}/mcp/@home`),
      await RawSession.open(gateway.url, '/mcp/@every'),
    ];
    await names(work);
    await names(home);
    await home.client.subscribeResource({ uri: 'gamma://own' });
    await home.client.setLoggingLevel('debug');
    expect(await errorOf(work.call('gamma__echo'))).toMatchObject({ code: -32602 });
    const stats = await json<Stats>(`${gateway.url}/stats`);
    expect(stats.profiles.work).toMatchObject({
      servers: ['alpha'],
      requests: { failed: 1, in_flight: 0 },
      sessions: 1,
      listens: 0,
    });
    expect(stats.profiles.home).toMatchObject({ servers: ['beta', 'gamma'], requests: { failed: 0 } });
    expect(stats.profiles.home.requests.total).toBeGreaterThanOrEqual(4);
    expect(stats.requests.total).toBeGreaterThan(stats.profiles.home.requests.total);

    const { sessions } = await json<{ sessions: { endpoint: string }[] }>(
      `${gateway.url}/inspector/sessions?filter=@home`,
    );
    expect(sessions.map(({ endpoint }) => endpoint)).toEqual(['/mcp/@home']);

    // gamma moves from home to work, by changes of the catalog and the gateway file.
    work.notes.length = 0;
    home.notes.length = 0;
    rewrite(gateway, (settings) => {
      settings.profiles = { work: profiles.work, home: { servers: ['beta'], tools: ['echo'] } };
    });
    gateway.writeCatalog({ ...servers, gamma: { ...servers.gamma, tags: ['work'] } });
    expect(await reload(gateway)).toMatchObject({ unchanged: ['alpha', 'beta', 'gamma'] });
    await eventually('both notifications', () => work.count(changed) > 0 && home.count(changed) > 0);
    expect(await names(home)).toEqual(['beta__echo']);
    expect(await names(work)).toContain('gamma__echo');
    expect(await work.call('gamma__echo', { text: 'now' })).toEqual({ text: 'now' });
    expect(await errorOf(home.call('gamma__echo'))).toMatchObject({ code: -32602 });
    await work.client.subscribeResource({ uri: 'gamma://own' });
    await work.call('gamma__update', { uri: 'gamma://own' });
    await eventually('the update', () => work.count(updated) > 0);
    await home.call('beta__echo');
    expect(home.count(updated)).toBe(0);
    expect((await every.request('tools/list')).status).toBe(404);
    expect(Object.keys((await json<Stats>(`${gateway.url}/stats`)).profiles)).toEqual(['work', 'home']);

    // Another list changes: only clients of profiles with that server are notified.
    home.notes.length = 0;
    work.notes.length = 0;
    await work.call('gamma__touch');
    await eventually('the notification of gamma', () => work.count(changed) > 0);
    work.notes.length = 0;
    gateway.writeCatalog({
      ...servers,
      gamma: { ...everythingOverStdio({ name: 'gamma', tools: ['echo'] }), tags: ['work'] },
    });
    expect(await reload(gateway)).toMatchObject({ changed: ['gamma'] });
    await eventually('the profile that has it', () => work.count(changed) > 0);
    await home.call('beta__echo');
    expect(home.count(changed)).toBe(0);

    // An invalid change is rejected and has no effect.
    rewrite(gateway, (settings) => {
      settings.profiles = { work: { servers: ['alhpa'], tags: ['wrok'] } };
    });
    expect((await reload(gateway)).problems.join('\n')).toMatch(
      /profiles\.work\.servers\[0\]: the catalog has no server alhpa; did you mean alpha\?/,
    );
    expect(await names(home)).toEqual(['beta__echo']);
    expect(gateway.logs().some(({ msg }) => msg.includes('the gateway file has changed;'))).toBe(false);
  });
});

test('running calls finish, with progress, when their server is removed from the profile', async () => {
  const slow = (name: string) => everythingOverStdio({ name, tools: ['slow', 'echo'] });
  const gateway = await startGateway({
    servers: { alpha: slow('alpha'), beta: { ...slow('beta'), isolation: 'session' }, gamma: slow('gamma') },
    settings: { profiles: { work: { servers: ['beta', 'gamma'] } } },
  });
  const client = await McpClient.connect(`${gateway.url}/mcp/@work`);
  await names(client);
  const progress: Record<string, number> = { beta: 0, gamma: 0 };
  const calls = ['beta', 'gamma'].map((id) =>
    client.client.callTool({ name: `${id}__slow`, arguments: { steps: 40, ms: 50, text: id } }, undefined, {
      onprogress: () => {
        progress[id] = (progress[id] ?? 0) + 1;
      },
    }),
  );
  await eventually('the start of both', () => Object.values(progress).every((count) => count > 0));
  rewrite(gateway, (settings) => {
    settings.profiles = { work: { servers: ['alpha'] } };
  });
  await reload(gateway);
  expect(await names(client)).toEqual(['alpha__echo', 'alpha__slow']);
  for (const id of ['beta', 'gamma'])
    expect(await errorOf(client.call(`${id}__echo`))).toMatchObject({ code: -32602 });
  for (const call of calls) expect(await call).not.toHaveProperty('isError');
  expect(progress).toEqual({ beta: 40, gamma: 40 });
});

test('a search finds, describes and calls only tools of the profile', async () => {
  const { url } = await startGateway({ servers, settings: { profiles, expose: 'search' } });
  const client = await McpClient.connect(`${url}/mcp/@home`);
  expect(await names(client)).toEqual(['find_tools', 'describe_tool', 'call_tool']);
  // biome-ignore lint/suspicious/noExplicitAny: result of a search
  const search = async (args: object): Promise<any> =>
    (await client.request('tools/call', { name: 'find_tools', arguments: args })).structuredContent;
  await eventually('all lists', async () => (await search({ query: '' })).total === 3);
  expect((await search({ query: 'echo' })).tools.map(({ name }: { name: string }) => name)).toEqual([
    'beta__echo',
    'gamma__echo',
  ]);
  expect((await search({ query: 'echo', server: 'alpha' })).hint).toBe(
    'there is no server "alpha"; there are beta, gamma',
  );
  const call = (name: string) => client.request('tools/call', { name: 'call_tool', arguments: { name } });
  expect(await call('gamma__echo')).not.toHaveProperty('isError');
  expect(await call('alpha__echo')).toMatchObject({ isError: true });
  expect(await call('gamma__touch')).toMatchObject({ isError: true });
  const described = { name: 'describe_tool', arguments: { name: 'alpha__echo' } };
  expect(await client.request('tools/call', described)).toMatchObject({ isError: true });
});

test('gateway-stdio serves one profile, of a configuration or of a running gateway', async () => {
  const setup = { servers, settings: { profiles } };
  const local = await StdioClient.connect(configured(setup, '--profile', 'home'));
  const listed = async (client: StdioClient) =>
    (await client.client.listTools()).tools.map(({ name }) => name).sort();
  expect(await listed(local)).toEqual(['beta__echo', 'gamma__echo', 'gamma__stats']);
  expect(await errorOf(local.client.callTool({ name: 'alpha__echo' }))).toMatchObject({ code: -32602 });
  const gateway = await startGateway(setup);
  const remote = await StdioClient.connect(['--url', `${gateway.url}/mcp`, '--profile', 'work']);
  expect(await listed(remote)).toEqual(['echo', 'stats', 'touch', 'update'].map((name) => `alpha__${name}`));
  expect(await errorOf(remote.client.callTool({ name: 'beta__echo' }))).toMatchObject({ code: -32602 });
});
