// First start, before any list is cached: the first list contains all servers that start in time, and names
// the missing servers. Lists are cached even if the client disconnects, and servers with cached lists need no
// start.

import { describe, expect, test } from 'vitest';
import { latch } from '../../fixtures/clients/api-client.ts';
import { listenAsk, modern, modernStream, prepared } from '../../fixtures/clients/modern-client.ts';
import { details, RawSession, startServer, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { configured, StdioWrapper } from '../../fixtures/gateway/stdio-gateway.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

const INCOMPLETE = 'actor-gateway/incomplete';
const CHANGED = 'notifications/tools/list_changed';
/** Exceeds the previous list timeout, as do the download and start of new servers. */
const SLOW_MS = 5_000;
/** A notice arrives within a twentieth of this time. */
const QUIET_MS = 1_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface ListResult {
  readonly tools: readonly { readonly name: string }[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

const namesIn = (result: unknown) => (result as ListResult).tools.map(({ name }) => name);
const markIn = (result: unknown) => (result as ListResult)._meta?.[INCOMPLETE];

/** Starts servers that hold their lists until the test releases them. */
function heldServers(ids: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
  const latches = Object.fromEntries(ids.map((id) => [id, latch()]));
  const entry = (id: string) =>
    fault('hangs-at-list', {
      start_timeout_seconds: 60,
      ...more,
      env: { FIRST_LIST_AFTER: latches[id]?.path ?? '' },
    });
  return {
    servers: Object.fromEntries(ids.map((id) => [id, entry(id)])),
    open: (...opened: readonly string[]) => {
      for (const id of opened) latches[id]?.open();
    },
  };
}

const waitForLists = (url: string, id: string) =>
  until(`the cached list of ${id}`, async () => (await details(url, id)).tools.length > 0);

const five = ['a', 'b', 'c', 'd', 'e'];
const tools = (ids: readonly string[]) => ids.map((id) => `${id}__late`);

describe.concurrent('the first list of a gateway without cached lists', () => {
  test('waits for all slow servers, is complete, and is neither preceded nor followed by a notification', async () => {
    const { servers, open } = heldServers(five);
    const gateway = await startGateway({ servers });
    const session = await RawSession.open(gateway.url);
    const stream = await session.listen();
    const listing = session.request('tools/list');
    // Sequentially, so that each list is cached at a different time, and one later than the previous list
    // timeout.
    for (const id of five.slice(0, 4)) {
      open(id);
      await waitForLists(gateway.url, id);
    }
    await sleep(SLOW_MS);
    open('e');
    const { result } = await listing;
    expect(namesIn(result)).toEqual(tools(five));
    expect(markIn(result)).toBeUndefined();
    await sleep(QUIET_MS);
    expect(stream.messages).toEqual([]);
    stream.stop();
    expect(gateway.text()).not.toMatch(signsOfBugs);
  });

  test('waits for slow servers for modern clients too, and notifies no client', async () => {
    const { servers, open } = heldServers(['a', 'b']);
    const { url } = await startGateway({ servers });
    const reader = modernStream(`${url}/mcp`, listenAsk({ toolsListChanged: true }));
    await reader.until('the acknowledgement', ({ messages }) => messages.length > 0);
    const listing = modern(`${url}/mcp`, { method: 'tools/list' });
    open('a');
    await waitForLists(url, 'a');
    await sleep(SLOW_MS);
    open('b');
    const { result } = await listing;
    expect(namesIn(result)).toEqual(tools(['a', 'b']));
    expect(markIn(result)).toBeUndefined();
    await sleep(QUIET_MS);
    expect(reader.messages).toHaveLength(1);
    reader.drop();
  });

  test('also waits over stdio, and all servers were started once', async () => {
    const { servers, open } = heldServers(five);
    const wrapper = new StdioWrapper(configured({ servers }));
    await wrapper.initialize();
    wrapper.send({ id: 1, method: 'tools/list', params: {} });
    open(...five.slice(0, 4));
    await sleep(SLOW_MS);
    open('e');
    expect(namesIn((await wrapper.answer(1)).result)).toEqual(tools(five));
    await sleep(QUIET_MS);
    expect(wrapper.messages.filter(({ method }) => method === CHANGED)).toEqual([]);
    expect(wrapper.stderr.match(/"state":"starting"/g)).toHaveLength(5);
    wrapper.child.stdin.end();
    expect(await wrapper.exited).toBe(0);
  });

  test('does not wait for a server that failed before', async () => {
    const { url } = await startGateway({
      servers: { good: fault('echo'), broken: fault('exits-at-once', { restart: { intensity: 0 } }) },
    });
    const session = await RawSession.open(url);
    const { result } = await session.request('tools/list');
    expect(namesIn(result)).toContain('good__echo');
    expect(markIn(result)).toEqual({ servers: ['broken'] });
    const askedAt = performance.now();
    await session.request('tools/list');
    expect(performance.now() - askedAt).toBeLessThan(10_000);
  });

  test('names servers that missed the timeout; one notification follows', async () => {
    const { servers, open } = heldServers(['a', 'b']);
    const gateway = await startGateway({ servers, settings: { list_timeout_seconds: 1 } });
    const session = await RawSession.open(gateway.url);
    const stream = await session.listen();
    const reader = modernStream(`${gateway.url}/mcp`, listenAsk({ toolsListChanged: true }));
    await reader.until('the acknowledgement', ({ messages }) => messages.length > 0);
    open('a');
    await startServer(gateway.url, 'a');
    const { result } = await session.request('tools/list');
    expect([namesIn(result), markIn(result)]).toEqual([tools(['a']), { servers: ['b'] }]);
    const stateless = (await modern(`${gateway.url}/mcp`, { method: 'tools/list' })).result;
    expect([namesIn(stateless), markIn(stateless), stateless.ttlMs]).toEqual([
      tools(['a']),
      { servers: ['b'] },
      0,
    ]);
    const logLines = gateway.logs().filter(({ msg }) => msg.startsWith('a list may lack items'));
    expect(logLines).toMatchObject([{ level: 'warn', list: 'tools/list', servers: ['b'] }]);
    open('b');
    await until('the notice', () => stream.messages.length > 0 && reader.messages.length > 1);
    const whole = (await session.request('tools/list')).result;
    expect([namesIn(whole), markIn(whole)]).toEqual([tools(['a', 'b']), undefined]);
    await sleep(QUIET_MS);
    expect(stream.messages.map(({ method }) => method)).toEqual([CHANGED]);
    expect(reader.messages).toHaveLength(2);
    stream.stop();
    reader.drop();
  });
});

describe.concurrent('a server list that the gateway has not read yet', () => {
  test.each(['shared', 'session'])(
    'is cached although the requesting client disconnects (isolation %s)',
    async (isolation) => {
      const { servers, open } = heldServers(['a'], { isolation });
      const { url } = await startGateway({ servers });
      const session = await RawSession.open(url, '/mcp', { sampling: {} });
      const leaving = new AbortController();
      const listing = session.request('tools/list', {}, { signal: leaving.signal }).catch(() => undefined);
      await until('the start', async () => (await details(url, 'a')).pids.length > 0);
      leaving.abort();
      await listing;
      expect(await session.end()).toBeLessThan(300);
      open('a');
      await waitForLists(url, 'a');
      const { result } = await (await RawSession.open(url)).request('tools/list');
      expect(namesIn(result)).toEqual(tools(['a']));
    },
  );

  test('is read at the start with learn: at_start, eight servers in parallel', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const { servers, open } = heldServers(ids);
    const setup = { servers, settings: { learn: 'at_start' } };
    const gateway = await startGateway(setup);
    const { url, folder } = gateway;
    const states = () => Promise.all(ids.map(async (id) => (await details(url, id)).state));
    await until('eight', async () => (await states()).filter((state) => state === 'starting').length === 8);
    expect((await states())[8]).toBe('stopped');
    open(...ids);
    for (const id of ids) await waitForLists(url, id);
    await gateway.stop();

    const restarted = await startGateway({ ...setup, folder });
    const session = await RawSession.open(restarted.url);
    expect(namesIn((await session.request('tools/list')).result)).toEqual(tools(ids));
    expect(restarted.logs().filter(({ msg }) => msg === 'server state')).toEqual([]);
  });

  test('is not cached if its server returned an error, and the next gateway requests the list again', async () => {
    const file = latch();
    const entry = (REFUSAL: string) =>
      fault('hangs-at-list', { env: { FIRST_LIST_AFTER: file.path, REFUSAL } });
    const servers = { failed: entry('-32603'), none: entry('-32601') };
    const gateway = await startGateway({ servers });
    const first = await (await RawSession.open(gateway.url)).request('tools/list');
    // An undeclared capability is a known result: an empty list.
    expect([namesIn(first.result), markIn(first.result)]).toEqual([[], { servers: ['failed'] }]);
    await gateway.stop();
    file.open();

    const restarted = await startGateway({ servers, folder: gateway.folder });
    const { result } = await (await RawSession.open(restarted.url)).request('tools/list');
    expect([namesIn(result), markIn(result)]).toEqual([['failed__late'], undefined]);
    expect(restarted.logs().filter(({ server, state }) => server === 'none' && state === 'starting')).toEqual(
      [],
    );
  });

  test('is not read by gateway-stdio for a client that only sends server/discover', async () => {
    const { servers } = heldServers(['a']);
    const wrapper = new StdioWrapper(configured({ servers }));
    wrapper.write(`${prepared({ method: 'server/discover' }).body}\n`);
    wrapper.child.stdin.end();
    expect(await wrapper.exited).toBe(0);
    expect((await wrapper.answer(1)).result.supportedVersions).toContain('2026-07-28');
    expect(wrapper.stderr).not.toContain('server state');
  });

  test('is read by gateway-stdio without a request of a client, unless gateway.yaml sets learn: on_demand', async () => {
    const [one, other] = [heldServers(['a']), heldServers(['a'])];
    one.open('a');
    other.open('a');
    const keen = new StdioWrapper(configured({ servers: one.servers }));
    const settings = { learn: 'on_demand' };
    const lazy = new StdioWrapper(configured({ servers: other.servers, settings }));
    // The client sends nothing.
    await lazy.initialize();
    await until('the start of the server', () => keen.stderr.includes('"state":"running"'));
    await lazy.request('p', 'ping');
    expect(lazy.stderr).not.toContain('server state');
    for (const { child, exited } of [keen, lazy]) {
      child.stdin.end();
      expect(await exited).toBe(0);
    }
  });
});
