// Modern clients with `subscriptions/listen`, by plain HTTP and with the client of the public SDK, at servers
// of either era, local and remote, shared and exclusive: acknowledgement, notifications and the state that is
// left.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import { ask, type EventReader, eventually, fixture } from '../../fixtures/clients/api-client.ts';
import {
  listenAsk,
  modern,
  modernStream,
  SERVER_INFO,
  SUBSCRIPTION,
  textOf,
  toolCall,
} from '../../fixtures/clients/modern-client.ts';
import { details } from '../../fixtures/clients/raw-session.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';

const watched = 'test://watched-resource';
const other = 'test://static-text';
const everyList = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

const ids = ['old', 'new', 'both', 'old-own', 'new-own', 'far', 'far-old'] as const;
const prefix = (id: string) => `${id}__`;

let remote: RemoteBothEras;
let gateway: GatewayProcess;
const open = new Set<EventReader>();
const clients: Client[] = [];

beforeAll(async () => {
  remote = await bothErasOverHttp({ name: 'far' });
  const entry = (id: string, era: string, isolation = 'shared') => ({
    ...bothErasOverStdio({ name: id }),
    era,
    isolation,
  });
  gateway = await startGateway({
    servers: {
      old: entry('old', 'legacy'),
      new: entry('new', 'modern'),
      both: entry('both', 'auto'),
      'old-own': entry('old-own', 'legacy', 'session'),
      'new-own': entry('new-own', 'modern', 'session'),
      far: { url: remote.url, era: 'modern' },
      'far-old': { url: remote.url, era: 'legacy' },
    },
  });
});

afterAll(async () => {
  for (const reader of open) reader.drop();
  await Promise.all(clients.map((client) => client.close()));
});

function listen(address: string, notifications: unknown, id = '1'): EventReader {
  const reader = modernStream(address, listenAsk(notifications, { id }));
  open.add(reader);
  return reader;
}

const messagesOf = (reader: EventReader) => reader.messages.map(({ json }) => json);
const methodsOf = (reader: EventReader) => messagesOf(reader).map(({ method }) => method);

/** Returns the acknowledged filter. Throws if another message arrived first. */
async function acknowledgedFilter(reader: EventReader): Promise<Record<string, unknown>> {
  await reader.until('the acknowledgement', ({ messages }) => messages.length > 0);
  expect(methodsOf(reader)[0]).toBe('notifications/subscriptions/acknowledged');
  return messagesOf(reader)[0].params.notifications;
}

const notificationsOf = (reader: EventReader, method: string) =>
  reader.until(method, () => messagesOf(reader).find((message) => message.method === method));

const at = (id?: string) => `${gateway.url}/mcp${id === undefined ? '' : `/${id}`}`;
let touches = 0;

describe.each(ids)('at the server %s', (id) => {
  const address = () => at(id);

  test('a client receives only requested notifications, each with the id of its listen request', async () => {
    const all = listen(address(), { ...everyList, resourceSubscriptions: [watched] }, '"l1"');
    const lists = listen(address(), { toolsListChanged: true, promptsListChanged: false }, '7');
    const uris = listen(address(), { resourceSubscriptions: [watched, watched] }, '"l3"');
    expect(await acknowledgedFilter(all)).toEqual({ ...everyList, resourceSubscriptions: [watched] });
    expect(await acknowledgedFilter(lists)).toEqual({ toolsListChanged: true });
    expect(await acknowledgedFilter(uris)).toEqual({ resourceSubscriptions: [watched] });
    touches += 1;
    await modern(address(), toolCall('touch', { name: `added-${touches}` }));
    await modern(address(), toolCall('update', { uri: watched }));
    await modern(address(), toolCall('update', { uri: other }));
    for (const reader of [all, lists]) await notificationsOf(reader, 'notifications/tools/list_changed');
    for (const reader of [all, uris]) await notificationsOf(reader, 'notifications/resources/updated');
    const methods = [all, lists, uris].map((reader) => new Set(methodsOf(reader).slice(1)));
    const [tools, updated] = ['notifications/tools/list_changed', 'notifications/resources/updated'];
    expect(methods).toEqual([new Set([tools, updated]), new Set([tools]), new Set([updated])]);
    for (const [reader, mark] of [
      [all, 'l1'],
      [lists, 7],
      [uris, 'l3'],
    ] as const) {
      for (const { params } of messagesOf(reader)) expect(params._meta[SUBSCRIPTION]).toBe(mark);
      expect(reader.text).not.toMatch(/^id:/m);
      expect(reader.isOver).toBe(false);
    }
    expect(messagesOf(uris).at(-1).params.uri).toBe(watched);
    for (const reader of [all, lists, uris]) reader.drop();
  });

  test('a listen request with an empty or all-false filter is acknowledged and completed immediately', async () => {
    for (const filter of [{}, { toolsListChanged: false }, { resourceSubscriptions: [] }]) {
      const reader = listen(address(), filter, '"e"');
      expect(await acknowledgedFilter(reader)).toEqual({});
      await reader.ended();
      expect(messagesOf(reader)).toHaveLength(2);
      const { id: answered, result } = messagesOf(reader)[1];
      expect([answered, result.resultType, result._meta[SUBSCRIPTION]]).toEqual(['e', 'complete', 'e']);
      expect(result._meta[SERVER_INFO].version).toBeDefined();
    }
  });

  test('two clients with equal ids receive only the notifications that each requested', async () => {
    const listening = listen(address(), { resourceSubscriptions: [watched] });
    const two = listen(address(), { resourceSubscriptions: [other] });
    await Promise.all([acknowledgedFilter(listening), acknowledgedFilter(two)]);
    await modern(address(), toolCall('update', { uri: other }));
    await notificationsOf(two, 'notifications/resources/updated');
    listening.drop();
    await eventually('the end of one', () => listening.isOver);
    await modern(address(), toolCall('update', { uri: other }));
    await two.until('the second update', ({ messages }) => messages.length === 3);
    expect(methodsOf(listening)).toHaveLength(1);
    two.drop();
  });
});

describe('in a listen request to all servers', () => {
  test('a client receives list changes of all servers, and updates of resources of any server', async () => {
    const uris = ids.map((id) => (id.startsWith('far') ? 'far://note/0' : `${id}://note/0`));
    const resourceList = JSON.stringify(
      (await modern(at(), { method: 'resources/list' })).json.result.resources,
    );
    const own = [...new Set(uris)].filter((uri) => resourceList.includes(`"${uri}"`));
    const reader = listen(at(), { ...everyList, resourceSubscriptions: [watched, ...own, 'nobody://knows'] });
    const promised = await acknowledgedFilter(reader);
    expect(promised).toEqual({ ...everyList, resourceSubscriptions: [watched, ...own] });
    for (const id of ids) {
      const before = reader.messages.length;
      touches += 1;
      await modern(at(), toolCall(`${prefix(id)}touch`, { name: `added-${touches}` }));
      await reader.until(`a change of ${id}`, ({ messages }) => messages.length > before);
    }
    expect(new Set(methodsOf(reader).slice(1))).toEqual(new Set(['notifications/tools/list_changed']));
    // The resource belongs to the first server that lists it.
    await modern(at(), toolCall('old__update', { uri: watched }));
    await notificationsOf(reader, 'notifications/resources/updated');
    reader.drop();
  });

  test.each(['1', '"1"', '9007199254740993', '"ä\\u00e4 \\"quoted\\""', '-0.50'])(
    'each response to a listen request contains its id %s unchanged',
    async (id) => {
      const reader = listen(at(), { toolsListChanged: true }, id);
      await acknowledgedFilter(reader);
      expect(reader.text).toContain(`"${SUBSCRIPTION}":${id}}`);
      reader.drop();
      const empty = listen(at(), {}, id);
      await empty.ended();
      expect(empty.messages.at(-1)?.data).toContain(`"id":${id},`);
      expect(empty.messages.at(-1)?.data).toContain(`"${SUBSCRIPTION}":${id},`);
    },
  );

  test.each([
    ['no filter', undefined],
    ['a filter that is a list', []],
    ['a filter that is null', null],
    ['uris that are no list', { resourceSubscriptions: watched }],
    ['a uri that is a number', { resourceSubscriptions: [watched, 1] }],
    ['a flag that is no boolean', { toolsListChanged: 'yes' }],
    ['a flag that is null', { resourcesListChanged: null }],
  ])('%s is rejected', async (_, filter) => {
    for (const address of [at(), at('old'), at('new')]) {
      const answer = await modern(address, listenAsk(filter, { id: '"bad"' }));
      expect([answer.status, answer.json.error.code, answer.json.id]).toEqual([400, -32602, 'bad']);
    }
  });

  test('unknown members of the filter are ignored', async () => {
    const reader = listen(at(), { toolsListChanged: true, moonsListChanged: 'full' });
    expect(await acknowledgedFilter(reader)).toEqual({ toolsListChanged: true });
    reader.drop();
  });
});

describe('the client of the public SDK', () => {
  test.each([undefined, ...ids])('receives acknowledgement and notifications at %s', async (id) => {
    const client = new Client(
      { name: 'listener', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    clients.push(client);
    const uris: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', () => void uris.push('tools'));
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void uris.push(params.uri),
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(at(id))));
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [watched] });
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true, resourceSubscriptions: [watched] });
    const name = id === undefined ? 'old__' : '';
    touches += 1;
    await client.callTool({ name: `${name}touch`, arguments: { name: `added-${touches}` } });
    await client.callTool({ name: `${name}update`, arguments: { uri: watched } });
    await eventually('both', () => uris.includes('tools') && uris.includes(watched));
    await subscription.close();
    expect(await subscription.closed).toBe('local');
  });
});

describe('when a listening client disconnects', () => {
  const log = async (): Promise<string[]> =>
    JSON.parse(textOf(await modern(at('old'), toolCall('stats')))).subscriptionLog;

  test('a legacy server receives an unsubscription only after its last listener', async () => {
    const before = (await log()).length;
    const [one, two] = [1, 2].map(() => listen(at('old'), { resourceSubscriptions: ['old://mine'] }));
    for (const reader of [one, two]) if (reader !== undefined) await acknowledgedFilter(reader);
    one?.drop();
    await eventually('its end', () => one?.isOver);
    const still = listen(at('old'), { resourceSubscriptions: ['old://marker'] });
    await acknowledgedFilter(still);
    expect((await log()).slice(before)).not.toContain('-old://mine');
    two?.drop();
    await eventually('the end of the subscription', async () =>
      (await log()).slice(before).includes('-old://mine'),
    );
    still.drop();
    await eventually('the end of the last', async () =>
      (await log()).slice(before).includes('-old://marker'),
    );
  });

  test('the stream to a modern remote server is reopened with the remaining subscriptions', async () => {
    const reader = listen(at('far'), { resourceSubscriptions: [watched, other] });
    await acknowledgedFilter(reader);
    const listens = () =>
      remote.http.requests
        .filter(({ body }) => body.includes('subscriptions/listen'))
        .map(({ body }) => JSON.parse(body).params.notifications);
    expect(listens().at(-1).resourceSubscriptions).toEqual(expect.arrayContaining([watched, other]));
    reader.drop();
    await eventually('another listen', () => {
      const last = listens().at(-1).resourceSubscriptions ?? [];
      return !last.includes(other);
    });
  });

  test('before its listen request is acknowledged, the server stops, and no request stays in flight', async () => {
    const folder = temporaryFolder();
    const log = join(folder, 'log');
    const args = [fixture('eras.mjs'), JSON.stringify({ startMs: 1500, log })];
    const own = await startGateway({
      servers: { slow: { command: process.execPath, args, idle_timeout_seconds: 1 } },
    });
    const reader = listen(`${own.url}/mcp/slow`, { toolsListChanged: true });
    await eventually('the start', () => existsSync(log) && readFileSync(log, 'utf8').includes('start'));
    reader.drop();
    await eventually(
      'the end of the server',
      async () => (await details(own.url, 'slow')).state === 'stopped',
    );
    expect((await ask(`${own.url}/stats`)).json.requests.in_flight).toBe(0);
  });
});

describe('a thousand resources', () => {
  const many = [...Array(1100).keys()].map((number) => `old://n/${number}`);

  test.each(['old', 'new', 'far'] as const)('are the maximum that one listen watches at %s', async (id) => {
    const reader = listen(at(id), { resourceSubscriptions: many });
    const { resourceSubscriptions } = await acknowledgedFilter(reader);
    expect(resourceSubscriptions).toEqual(many.slice(0, 1000));
    await modern(at(id), toolCall('update', { uri: many[999] }));
    expect((await notificationsOf(reader, 'notifications/resources/updated')).params.uri).toBe(many[999]);
    reader.drop();
  });
});

describe.concurrent('a listen request continues', () => {
  test.each([
    ['legacy', 'shared'],
    ['modern', 'shared'],
    ['legacy', 'session'],
    ['modern', 'session'],
  ])(
    'after a restart of a server of era %s, isolation %s, which is subscribed again',
    async (era, isolation) => {
      const entry = { ...bothErasOverStdio(), era, isolation, restart: { min_backoff_ms: 10 } };
      const own = await startGateway({ servers: { it: entry } });
      const address = `${own.url}/mcp/it`;
      const reader = listen(address, { toolsListChanged: true, resourceSubscriptions: [watched] });
      await acknowledgedFilter(reader);
      for (let time = 1; time <= 2; time += 1) {
        await modern(address, toolCall('exit'));
        await eventually('its return', async () => (await details(own.url, 'it')).pids.length > 0);
        await eventually('an update', async () => {
          await modern(address, toolCall('update', { uri: watched }));
          return (
            methodsOf(reader).filter((method) => method === 'notifications/resources/updated').length >= time
          );
        });
        await modern(address, toolCall('touch', { name: `again-${time}` }));
        await reader.until(
          'a changed list',
          () =>
            methodsOf(reader).filter((method) => method === 'notifications/tools/list_changed').length >=
            time,
        );
      }
      expect(reader.isOver).toBe(false);
      expect(
        methodsOf(reader).filter((method) => method === 'notifications/subscriptions/acknowledged'),
      ).toHaveLength(1);
    },
  );

  test('after a modern remote server breaks its stream, which the gateway reopens', async () => {
    const remoteServer = await bothErasOverHttp();
    const own = await startGateway({ servers: { it: { url: remoteServer.url, era: 'modern' } } });
    const reader = listen(`${own.url}/mcp/it`, { resourceSubscriptions: [watched] });
    await acknowledgedFilter(reader);
    const count = () =>
      remoteServer.http.requests.filter(({ body }) => body.includes('subscriptions/listen')).length;
    const before = count();
    remoteServer.http.server.closeAllConnections();
    await eventually('another listen', () => count() > before);
    await eventually('an update', async () => {
      await remoteServer.sharedState.resourceUpdated(watched);
      return methodsOf(reader).includes('notifications/resources/updated');
    });
  });
});

describe.concurrent('during a listen request', () => {
  const entry = (more: object = {}) => ({ ...bothErasOverStdio(), idle_timeout_seconds: 0.6, ...more });

  test.each(['legacy', 'modern'])(
    'a watched resource prevents the idle stop of a server of era %s, a watched list does not',
    async (era) => {
      const own = await startGateway({
        servers: { it: entry({ era }), lists: entry({ era, env: { N: '2' } }) },
      });
      const reader = listen(`${own.url}/mcp/it`, { resourceSubscriptions: [watched] });
      const lists = listen(`${own.url}/mcp/lists`, { toolsListChanged: true });
      await Promise.all([acknowledgedFilter(reader), acknowledgedFilter(lists)]);
      const [pid] = (await details(own.url, 'it')).pids;
      await eventually(
        'the stop of the other',
        async () => (await details(own.url, 'lists')).state === 'stopped',
      );
      expect((await details(own.url, 'it')).pids).toEqual([pid]);
      // Neither this listen request nor another starts the server.
      const secondListen = listen(`${own.url}/mcp/lists`, { toolsListChanged: true });
      const all = listen(`${own.url}/mcp`, { toolsListChanged: true });
      await Promise.all([acknowledgedFilter(secondListen), acknowledgedFilter(all)]);
      expect((await details(own.url, 'lists')).state).toBe('stopped');
      reader.drop();
      await eventually('the sleep', async () => (await details(own.url, 'it')).state === 'stopped');
    },
  );

  test('an empty filter starts no server', async () => {
    const own = await startGateway({ servers: { it: entry({ era: 'auto' }) } });
    const reader = listen(`${own.url}/mcp/it`, {});
    expect(await acknowledgedFilter(reader)).toEqual({});
    expect(await details(own.url, 'it')).toMatchObject({ state: 'stopped', requests: 0 });
    expect(own.logs().some(({ msg }) => msg === 'probed the protocol eras of the server')).toBe(false);
  });
});

describe.concurrent('the gateway closes a listen request', () => {
  test('with a complete result when the server is removed from the catalog, but not when the entry only changes', async () => {
    const own = await startGateway({ servers: { it: { ...bothErasOverStdio(), era: 'modern' } } });
    const address = `${own.url}/mcp/it`;
    const reader = listen(address, { toolsListChanged: true, resourceSubscriptions: [watched] }, '"r"');
    const everywhere = listen(`${own.url}/mcp`, { toolsListChanged: true });
    await Promise.all([acknowledgedFilter(reader), acknowledgedFilter(everywhere)]);
    own.writeCatalog({ it: { ...bothErasOverStdio(), era: 'modern', env: { CHANGED: '1' } } });
    expect((await ask(`${own.url}/admin/reload`, { method: 'POST' })).json.changed).toEqual(['it']);
    await eventually('an update from the new one', async () => {
      await modern(address, toolCall('update', { uri: watched }));
      return methodsOf(reader).includes('notifications/resources/updated');
    });
    own.writeCatalog({});
    expect((await ask(`${own.url}/admin/reload`, { method: 'POST' })).json.removed).toEqual(['it']);
    await reader.ended();
    expect(messagesOf(reader).at(-1)).toMatchObject({
      id: 'r',
      result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 'r' } },
    });
    expect(everywhere.isOver).toBe(false);
    await own.stop();
    await everywhere.ended();
    expect(messagesOf(everywhere).at(-1)).toMatchObject({ id: 1, result: { resultType: 'complete' } });
  });

  test('with an error if it was not acknowledged yet', async () => {
    const args = [fixture('eras.mjs'), JSON.stringify({ startMs: 60_000 })];
    const own = await startGateway({ servers: { it: { command: process.execPath, args } } });
    const waiting = modern(`${own.url}/mcp/it`, listenAsk({ toolsListChanged: true }, { id: '"w"' }));
    await eventually('the start', async () => (await details(own.url, 'it')).state === 'starting');
    expect(await own.stop()).toBe(0);
    const answer = await waiting;
    expect([answer.status, answer.json.id, answer.json.error.data.reason]).toEqual([200, 'w', 'ERR_STOPPED']);
  });

  test('with an error if the server cannot be started', async () => {
    const args = [fixture('exits-at-once.mjs')];
    const own = await startGateway({
      servers: { it: { command: process.execPath, args, restart: { intensity: 0 } } },
    });
    const answer = await modern(`${own.url}/mcp/it`, listenAsk({ toolsListChanged: true }, { id: '"w"' }));
    expect([answer.status, answer.json.id, answer.json.error.code]).toEqual([200, 'w', -32000]);
    expect((await modern(`${own.url}/mcp/nobody`, listenAsk({}))).status).toBe(404);
  });
});
