// Sessions continue after the end of the gateway (`kill -9`, stop), after an idle time, and when their owner
// has too many. Raw clients keep their session id and never initialize again.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  apiServer,
  ask,
  BOTH,
  call,
  EventReader,
  eventually,
  initialize,
  introduction,
  latch,
  message,
  post,
  postStream,
} from '../../fixtures/clients/api-client.ts';
import { everythingOverStdio } from '../../fixtures/everything/start.ts';
import {
  type GatewayProcess,
  type GatewaySetup,
  startGateway,
} from '../../fixtures/gateway/gateway-process.ts';

const URI = 'test://static-text';

/** Ends the gateway and starts it again in the same folder. */
async function restart(
  gateway: GatewayProcess,
  setup: GatewaySetup,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<GatewayProcess> {
  await gateway.stop(signal);
  return startGateway({ ...setup, folder: gateway.folder });
}

const textOf = (answer: { json: { result: { content: { text: string }[] } } }) =>
  answer.json.result.content[0]?.text ?? '';

describe('after a restart of the gateway', () => {
  test.concurrent.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s a session continues at each address, and a deleted session stays deleted',
    async (signal) => {
      const setup: GatewaySetup = {
        servers: { api: apiServer(), own: apiServer({ isolation: 'session' }) },
        settings: { profiles: { work: { servers: ['api'] } } },
      };
      const paths = ['/mcp', '/mcp/api', '/mcp/own', '/mcp/@work'];
      const first = await startGateway(setup);
      const opened = await Promise.all(
        paths.map(async (path) => ({ path, session: await initialize(first.url + path) })),
      );
      const ended = await initialize(`${first.url}/mcp`);
      expect((await ask(`${first.url}/mcp`, { method: 'DELETE', headers: ended })).status).toBe(204);
      const { url, stop } = await restart(first, setup, signal);
      for (const { path, session } of opened) {
        const tool = path === '/mcp' || path === '/mcp/@work' ? 'api__echo' : 'echo';
        const answer = await post(url + path, call(tool, { path }), session);
        expect([path, answer.status, textOf(answer)]).toEqual([path, 200, JSON.stringify({ path })]);
        const other = path === '/mcp' ? '/mcp/api' : '/mcp';
        expect((await post(url + other, message('ping'), session)).status).toBe(404);
      }
      expect((await post(`${url}/mcp`, message('ping'), ended)).status).toBe(404);
      // The first DELETE removes a session that is not in memory.
      const [{ session = ended } = {}] = opened;
      expect((await ask(`${url}/mcp`, { method: 'DELETE', headers: session })).status).toBe(204);
      expect((await ask(`${url}/mcp`, { method: 'DELETE', headers: session })).status).toBe(404);
      await stop();
    },
  );

  test.concurrent('the server receives the client description, log level and subscriptions again', async () => {
    const setup: GatewaySetup = {
      servers: { every: { ...everythingOverStdio(), isolation: 'session' } },
    };
    const first = await startGateway(setup);
    const params = {
      ...introduction('2025-06-18'),
      capabilities: { sampling: {} },
      clientInfo: { name: 'ünit', version: '7' },
    };
    const opened = await post(`${first.url}/mcp/every`, message('initialize', params));
    const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    for (const [method, given] of [
      ['logging/setLevel', { level: 'error' }],
      ['resources/subscribe', { uri: URI }],
      ['resources/subscribe', { uri: 'test://static-binary' }],
      ['resources/unsubscribe', { uri: 'test://static-binary' }],
    ] as const)
      expect((await post(`${first.url}/mcp/every`, message(method, given), session)).json.result).toEqual({});
    const lastRecord = () => readRecords(first).trim().split('\n').at(-1) ?? '';
    await eventually('the record', () => lastRecord().includes(`"subscriptions":[["every","${URI}"]]`));
    const { url, stop } = await restart(first, setup);
    const address = `${url}/mcp/every`;
    const seen = JSON.parse(textOf(await post(address, call('stats'), session)));
    expect(seen).toMatchObject({
      clientInfo: { name: 'ünit', version: '7' },
      clientCapabilities: { sampling: {} },
      level: 'error',
      subscribed: [URI],
    });
    const stream = new EventReader(address, { headers: session });
    await stream.opened();
    await post(address, call('update', { uri: URI }), session);
    await stream.until('the update', ({ text }) => text.includes('notifications/resources/updated'));
    stream.drop();
    await stop();
  });

  test.concurrent('a session can be continued only with the API key that opened the session', async () => {
    const setup: GatewaySetup = { servers: {}, settings: { api_key: 'key-of-a-principal' } };
    const key = { 'x-api-key': 'key-of-a-principal' };
    const first = await startGateway(setup);
    const session = await initialize(`${first.url}/mcp`, '2025-11-25', key);
    const open = await restart(first, { servers: {} });
    expect((await post(`${open.url}/mcp`, message('ping'), session)).status).toBe(404);
    const guarded = await restart(open, setup);
    expect((await post(`${guarded.url}/mcp`, message('ping'), { ...session, ...key })).status).toBe(200);
    await guarded.stop();
  });

  test.concurrent('an interrupted notification stream is replaced, and an interrupted call fails with its own id', async () => {
    const setup: GatewaySetup = { servers: { api: apiServer() } };
    const first = await startGateway(setup);
    const session = await initialize(`${first.url}/mcp`);
    const notifications = new EventReader(`${first.url}/mcp`, { headers: session });
    await notifications.opened();
    const params = {
      name: 'api__talk',
      arguments: { before: 1, until: latch().path },
      _meta: { progressToken: 'p' },
    };
    const talking = postStream(`${first.url}/mcp`, message('tools/call', params, 'call-7'), session);
    await talking.until('the progress', ({ messages }) => messages.length > 0);
    const lastNotification = notifications.events.at(-1)?.id ?? '';
    const lastOfCall = talking.events.at(-1)?.id ?? '';
    const { url, stop } = await restart(first, setup);
    const address = `${url}/mcp`;

    const resumedCall = new EventReader(address, { headers: { ...session, 'last-event-id': lastOfCall } });
    await resumedCall.ended();
    expect(resumedCall.text).toContain('"id":"call-7"');
    expect(resumedCall.text).toContain('ERR_CONNECTION_LOST');

    const resumed = new EventReader(address, { headers: { ...session, 'last-event-id': lastNotification } });
    await resumed.until('the lists', ({ messages }) => messages.length === 3);
    const methods = ({ messages }: EventReader) => messages.map(({ json }) => json.method);
    expect(methods(resumed)).toEqual(
      ['tools', 'prompts', 'resources'].map((kind) => `notifications/${kind}/list_changed`),
    );
    // A client that loses the stream of the new process continues it.
    resumed.drop();
    const lastEventId = resumed.messages[0]?.id ?? '';
    const continued = new EventReader(address, { headers: { ...session, 'last-event-id': lastEventId } });
    await continued.until('the rest', ({ messages }) => messages.length === 2);
    expect(methods(continued)).toEqual(methods(resumed).slice(1));
    continued.drop();
    expect((await post(`${url}/mcp`, message('ping'), session)).status).toBe(200);
    await stop();
  });

  test.concurrent('concurrent first requests share the restored session', async () => {
    const setup: GatewaySetup = { servers: { own: apiServer({ isolation: 'session' }) } };
    const first = await startGateway(setup);
    const session = await initialize(`${first.url}/mcp`);
    const { url, stop } = await restart(first, setup);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, id) => post(`${url}/mcp`, call('own__pid', {}, id), session)),
    );
    expect(new Set(answers.map(textOf)).size).toBe(1);
    expect((await ask(`${url}/stats`)).json.sessions).toBe(1);
    await stop();
  });
});

test.concurrent('a server process lost by a gateway restart is reported once with lost_process: error, and replaced otherwise', async () => {
  const setup: GatewaySetup = {
    servers: {
      strict: apiServer({ isolation: 'session', lost_process: 'error' }),
      lenient: apiServer({ isolation: 'session' }),
    },
  };
  const first = await startGateway(setup);
  const session = await initialize(`${first.url}/mcp`);
  const before = textOf(await post(`${first.url}/mcp`, call('strict__pid'), session));
  await post(`${first.url}/mcp`, call('lenient__pid'), session);
  await eventually('the record', () => readRecords(first).includes('"processes":["strict"]'));
  const { url, stop } = await restart(first, setup);
  const lost = await post(`${url}/mcp`, call('strict__pid'), session);
  expect([lost.status, lost.json.error.data]).toEqual([
    200,
    { reason: 'ERR_PROCESS_LOST', server: 'strict' },
  ]);
  const after = textOf(await post(`${url}/mcp`, call('strict__pid'), session));
  expect(after).not.toBe(before);
  expect(Number(textOf(await post(`${url}/mcp`, call('lenient__pid'), session)))).toBeGreaterThan(0);
  await stop();
});

test.concurrent('the stored session records contain no session id, and only the owner of the file can read them', async () => {
  const gateway = await startGateway({ servers: {} });
  const { 'mcp-session-id': id } = await initialize(`${gateway.url}/mcp`);
  const records = readRecords(gateway);
  expect(records).toContain('api-test');
  expect(records).not.toContain(id);
  expect(records).not.toContain(id.slice(0, 8));
  await gateway.stop();
});

test.concurrent('a client with many sessions leaves capacity for other clients, and can continue all its sessions', async () => {
  const gateway = await startGateway({
    servers: { api: apiServer() },
    settings: { limits: { sessions: 8 } },
  });
  const { url } = gateway;
  const sessions = [];
  for (let count = 0; count < 12; count += 1) sessions.push(await initialize(`${url}/mcp`));
  expect((await ask(`${url}/stats`)).json.sessions).toBe(4);
  // Sessions in use stay; all others continue, also the oldest.
  for (const session of sessions.slice(4))
    expect((await post(`${url}/mcp`, message('ping'), session)).status).toBe(200);
  const streams = sessions
    .slice(-4)
    .map((headers) => new EventReader(`${url}/mcp`, { headers: { ...headers, accept: BOTH } }));
  await Promise.all(streams.map((stream) => stream.opened()));
  const refused = await post(`${url}/mcp`, message('initialize', introduction('2025-11-25')));
  expect(refused.json.error).toMatchObject({ data: { reason: 'ERR_OVERLOADED' } });
  expect(refused.json.error.message).toMatch(/at most half.*limits\.sessions/);
  for (const stream of streams) stream.drop();
  await gateway.stop();
});

/** Text of the journal of sessions. */
function readRecords({ folder }: GatewayProcess): string {
  return readFileSync(join(folder, '.gateway', 'sessions.ndjson'), 'utf8');
}
