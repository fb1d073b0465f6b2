// Remote servers behind the gateway, over Streamable HTTP and the older SSE transport: one upstream session
// per client session, and behaviour for lost sessions, refusals, disconnects and outages.

import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import { callOnce, details, http, json, RawSession } from '../../fixtures/clients/raw-session.ts';
import {
  everythingOverHttp,
  everythingOverSse,
  type RemoteEverything,
  type RemoteOptions,
} from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

const TOKEN = 'Bearer sesame-open-4711';

/** The same remote server as several entries of the catalog. */
interface Setting {
  readonly gateway: GatewayProcess;
  readonly remote: RemoteEverything;
  at(id: string, name?: string): Promise<McpClient>;
}

async function setUp(remote: RemoteEverything, runtime: 'http' | 'sse', more: object = {}): Promise<Setting> {
  const entry = {
    url: `${remote.url}?secret-query=1`,
    runtime,
    headers: { Authorization: TOKEN, 'X-Team': 'blue' },
    restart: { min_backoff_ms: 300, intensity: 50 },
    ...more,
  };
  const gateway = await startGateway({
    servers: { own: entry, shared: { ...entry, isolation: 'shared' } },
  });
  return {
    gateway,
    remote,
    at: (id, name = 'test') => McpClient.connect(`${gateway.url}/mcp/${id}`, { name }),
  };
}

/** Number of initialize requests to the server by `ann`, or by the gateway if all clients share a session. */
function handshakes({ http: { requests } }: RemoteEverything, id: string): number {
  const name = id === 'own' ? 'ann' : 'actor-gateway';
  return requests.filter(({ body }) => body.includes('"initialize"') && body.includes(`"name":"${name}"`))
    .length;
}

const kinds: [string, 'http' | 'sse', RemoteOptions | undefined][] = [
  ['streams', 'http', {}],
  ['JSON only', 'http', { isJsonOnly: true }],
  ['older SSE', 'sse', undefined],
];

describe.each(kinds)('a remote server (%s)', (_, runtime, options) => {
  let remote: RemoteEverything;
  let setting: Setting;
  const extra: McpClient[] = [];
  const at = async (id: string, name?: string) => {
    const client = await setting.at(id, name);
    extra.push(client);
    return client;
  };

  beforeAll(async () => {
    remote = await (options === undefined ? everythingOverSse() : everythingOverHttp(options));
    setting = await setUp(remote, runtime);
  });

  afterEach(async () => {
    remote.refusal = undefined;
    await Promise.all(extra.splice(0).map((client) => client.leave()));
  });

  test('is initialized, listed and called as if direct, and receives only the configured headers', async () => {
    const client = await at('own');
    expect(client.client.getServerVersion()?.name).toBe('everything');
    expect(client.client.getInstructions()).toBe('Ask me anything.');
    expect((await client.client.listTools()).tools.map(({ name }) => name)).toContain('echo');
    expect(await client.call('echo', { text: 'é\u2028💥' })).toEqual({ text: 'é\u2028💥' });
    expect(await errorOf(client.call('fail'))).toMatchObject({
      code: -32002,
      data: { uri: 'x://y', list: [1, null] },
    });
    const { requests } = remote.http;
    expect(requests.length).toBeGreaterThan(3);
    for (const { headers } of requests) {
      expect(headers).toMatchObject({ authorization: TOKEN, 'x-team': 'blue' });
      expect(headers['x-api-key']).toBe(undefined);
    }
    expect(setting.gateway.text()).not.toContain('sesame');
    expect(setting.gateway.text()).not.toContain('secret-query');
  });

  test('has a session per client session, and both sessions are closed together', async () => {
    const before = new Set(remote.sessions());
    const [ann, bob] = [await at('own'), await at('own')];
    const sessions = [(await ann.stats()).session, (await bob.stats()).session];
    expect(new Set(sessions).size).toBe(2);
    expect((await ann.stats()).session).toBe(sessions[0]);
    extra.splice(extra.indexOf(ann), 1);
    const deletes = () => remote.http.requests.filter(({ line }) => line.startsWith('DELETE')).length;
    const deleted = deletes();
    await ann.leave();
    await eventually(
      'the end of one session',
      () => !remote.sessions().some(({ session }) => session === sessions[0]),
    );
    if (runtime === 'http') expect(deletes()).toBe(deleted + 1);
    expect((await bob.stats()).session).toBe(sessions[1]);
    expect(before.size).toBeLessThanOrEqual(1);
  });

  test('that is shared has one session for all clients', async () => {
    const clients = await Promise.all([1, 2, 3].map(() => at('shared')));
    const stats = await Promise.all(clients.map((client) => client.stats()));
    expect(new Set(stats.map(({ session }) => session)).size).toBe(1);
    expect(stats[0]?.clientCapabilities).toEqual({});
  });

  test('delivers all progress notifications of a burst', async () => {
    const client = await at('own');
    const steps: unknown[] = [];
    await client.client.callTool({ name: 'slow', arguments: { steps: 150, ms: 0 } }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    });
    const all = Array.from({ length: 150 }, (_, n) => n + 1);
    expect(steps).toEqual(options?.isJsonOnly === true ? [] : all);
  });

  test('receives cancellations', async () => {
    const client = await at('own');
    const stopping = new AbortController();
    const cut = errorOf(
      client.client.callTool({ name: 'slow', arguments: { steps: 500 } }, undefined, {
        signal: stopping.signal,
      }),
    );
    await eventually('the call', async () => (await client.stats()).calls.includes('slow'));
    stopping.abort('enough');
    await cut;
    await eventually('the cancellation', async () => (await client.stats()).cancelled.length === 1);
  });

  test.each(['own', 'shared'])(
    'that loses its sessions receives one new handshake, and calls are answered (%s)',
    async (id) => {
      const ann = await at(id, 'ann');
      await ann.client.setLoggingLevel('warning');
      await ann.client.subscribeResource({ uri: 'test://watched-resource' });
      const { session } = await ann.stats();
      const countBefore = handshakes(remote, id);
      await remote.loseSessions();
      // The older transport loses the stream and current calls a moment before the gateway notices.
      if (runtime === 'sse') await eventually('the new session', () => handshakes(remote, id) > countBefore);
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => ann.call('echo', { n })));
      expect(answers).toEqual(Array.from({ length: 20 }, (_, n) => ({ n })));
      const after = await ann.stats();
      expect(after.session).not.toBe(session);
      expect(after.level).toBe('warning');
      expect(after.subscribed).toEqual(['test://watched-resource']);
      expect(handshakes(remote, id) - countBefore).toBe(1);
    },
  );

  test('that is down causes failed or delayed calls, and is used again within one backoff after it is up', async () => {
    const session = await RawSession.open(setting.gateway.url, '/mcp/own');
    expect((await session.call('echo')).error).toBeUndefined();
    await remote.down();
    const call = session.call('echo');
    const down = await Promise.race([
      call,
      new Promise<undefined>((done) => setTimeout(() => done(undefined), 1_000)),
    ]);
    if (down !== undefined) {
      expect(down.status).toBe(200);
      expect(down.error).toMatchObject({ code: -32000, data: { server: 'own' } });
    }
    await remote.up();
    const began = performance.now();
    expect((await call).status).toBe(200);
    const back = await eventually('an answer', async () => {
      const answer = await session.call('echo', { back: true });
      return answer.error === undefined && answer;
    });
    expect(JSON.parse(back.text)).toEqual({ back: true });
    // Time for the handshake and a backoff that grew from 300 ms, on a busy machine. The server never enters
    // the failed state.
    expect(performance.now() - began).toBeLessThan(12_000);
  });

  test('can be restarted between two calls without an error for clients', async () => {
    const [own, shared] = [await at('own'), await at('shared')];
    await Promise.all([own.call('echo'), shared.call('echo')]);
    await remote.down();
    await remote.up();
    expect(await eventually('own', () => own.call('echo', { n: 1 }).catch(() => false))).toEqual({ n: 1 });
    expect(await eventually('shared', () => shared.call('echo', { n: 2 }).catch(() => false))).toEqual({
      n: 2,
    });
  });

  test('that responds with 401 is reported with a remedy, and without the token', async () => {
    const { url } = setting.gateway;
    await http(`${url}/servers/shared/stop`, { method: 'POST' });
    remote.refusal = ({ res }) => {
      res.writeHead(401, { 'content-type': 'text/plain', 'www-authenticate': 'Bearer' });
      res.end(`the token ${TOKEN} has expired`);
    };
    const refusal = await json(`${url}/servers/shared/start`, 'POST');
    expect(refusal.status).toBe(502);
    expect(refusal.body.message).toMatch(/401.*has expired.*headers:/s);
    expect(refusal.text + setting.gateway.text()).not.toContain('sesame');
    expect((await details(url, 'shared')).last_error?.message).toContain('401');
    remote.refusal = undefined;
    await eventually('recovery', async () => (await callOnce(url, 'shared', 'echo')).status === 200);
  });
});

describe('a stream of the older transport', () => {
  test('that breaks fails only the calls on that stream', async () => {
    const remote = await everythingOverSse();
    const setting = await setUp(remote, 'sse');
    const [own, shared] = [await setting.at('own'), await setting.at('shared')];
    const cut = [own, shared].map((client) => errorOf(client.call('slow', { steps: 1000 })));
    await eventually(
      'both calls',
      () => remote.sessions().filter(({ statistics }) => statistics.calls.includes('slow')).length === 2,
    );
    await remote.loseSessions();
    for (const error of await Promise.all(cut)) expect(error.message).toMatch(/stream|connection/);
    expect(await own.call('echo', { n: 1 })).toEqual({ n: 1 });
    expect(await shared.call('echo', { n: 2 })).toEqual({ n: 2 });
  });
});

describe('a notification on the stream of a remote server', () => {
  test('reaches its client session, also after the remote session was lost and replaced', async () => {
    const remote = await everythingOverHttp();
    const { at } = await setUp(remote, 'http');
    const [ann, bob] = [await at('own'), await at('own')];
    const uri = 'test://watched-resource';
    for (const client of [ann, bob]) await client.client.subscribeResource({ uri });
    const updates = (client: McpClient) => client.count('notifications/resources/updated');
    // An SDK server drops messages that it sends before the stream is open.
    await eventually('an update', async () => (await ann.call('update', { uri })) && updates(ann) > 0);
    expect(updates(bob)).toBe(0);
    await remote.loseSessions();
    const before = updates(ann);
    await eventually('an update', async () => (await ann.call('update', { uri })) && updates(ann) > before);
    expect(updates(bob)).toBe(0);
  });
});
