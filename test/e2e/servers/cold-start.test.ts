// A gateway that knows nothing yet: a client's first list has what all servers have that start in time, and says so when
// it has not; whoever leaves has had the others learn; and what is known starts nothing.

import { describe, expect, test } from 'vitest';
import { latch } from '../../fixtures/clients/api-client.ts';
import { listenAsk, modern, modernStream, prepared } from '../../fixtures/clients/modern-client.ts';
import { details, RawSession, startServer, until } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { configured, StdioWrapper } from '../../fixtures/gateway/stdio-gateway.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

const INCOMPLETE = 'actor-gateway/incomplete';
const CHANGED = 'notifications/tools/list_changed';
/** As long as no list took: servers that are fetched and started anew need more. */
const SLOW_MS = 5_000;
/** Notices come within a twentieth of this. */
const QUIET_MS = 1_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Listed {
  readonly tools: readonly { readonly name: string }[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

const namesIn = (result: unknown) => (result as Listed).tools.map(({ name }) => name);
const markIn = (result: unknown) => (result as Listed)._meta?.[INCOMPLETE];

/** Servers that give their lists when a test lets them. */
function held(ids: readonly string[], more: Readonly<Record<string, unknown>> = {}) {
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

const known = (url: string, id: string) =>
  until(`${id} to be known`, async () => (await details(url, id)).tools.length > 0);

const five = ['a', 'b', 'c', 'd', 'e'];
const tools = (ids: readonly string[]) => ids.map((id) => `${id}__late`);

describe.concurrent('the first list of a gateway that knows nothing', () => {
  test('waits for all that are slow, is whole, and nothing is announced before or after it', async () => {
    const { servers, open } = held(five);
    const gateway = await startGateway({ servers });
    const session = await RawSession.open(gateway.url);
    const stream = await session.listen();
    const listing = session.request('tools/list');
    // One after the other, so that they become known apart; the last later than anybody used to wait.
    for (const id of five.slice(0, 4)) {
      open(id);
      await known(gateway.url, id);
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

  test('of a modern client does so too, and what listens hears nothing of it', async () => {
    const { servers, open } = held(['a', 'b']);
    const { url } = await startGateway({ servers });
    const reader = modernStream(`${url}/mcp`, listenAsk({ toolsListChanged: true }));
    await reader.until('the acknowledgement', ({ messages }) => messages.length > 0);
    const listing = modern(`${url}/mcp`, { method: 'tools/list' });
    open('a');
    await known(url, 'a');
    await sleep(SLOW_MS);
    open('b');
    const { result } = await listing;
    expect(namesIn(result)).toEqual(tools(['a', 'b']));
    expect(markIn(result)).toBeUndefined();
    await sleep(QUIET_MS);
    expect(reader.messages).toHaveLength(1);
    reader.drop();
  });

  test('over stdio does so too, and every server was started once', async () => {
    const { servers, open } = held(five);
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

  test('does not wait for a server that has failed already (IZ2)', async () => {
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

  test('says what it lacks when that takes too long, and it alone is announced, once', async () => {
    const { servers, open } = held(['a', 'b']);
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
    const told = gateway.logs().filter(({ msg }) => msg.startsWith('a list was given without all'));
    expect(told).toMatchObject([{ level: 'warn', list: 'tools/list', servers: ['b'] }]);
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

describe.concurrent('what is not known', () => {
  test.each(['shared', 'session'])(
    'is learnt although the client leaves that asked for it, %s',
    async (isolation) => {
      const { servers, open } = held(['a'], { isolation });
      const { url } = await startGateway({ servers });
      const session = await RawSession.open(url, '/mcp', { sampling: {} });
      const left = new AbortController();
      const listing = session.request('tools/list', {}, { signal: left.signal }).catch(() => undefined);
      await until('the start', async () => (await details(url, 'a')).pids.length > 0);
      left.abort();
      await listing;
      expect(await session.end()).toBeLessThan(300);
      open('a');
      await known(url, 'a');
      const { result } = await (await RawSession.open(url)).request('tools/list');
      expect(namesIn(result)).toEqual(tools(['a']));
    },
  );

  test('is learnt at the start where the file says so, nine servers eight at a time, and what is known starts nothing', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const { servers, open } = held(ids);
    const setup = { servers, settings: { learn: 'at_start' } };
    const gateway = await startGateway(setup);
    const { url, folder } = gateway;
    const states = () => Promise.all(ids.map(async (id) => (await details(url, id)).state));
    await until('eight', async () => (await states()).filter((state) => state === 'starting').length === 8);
    expect((await states())[8]).toBe('stopped');
    open(...ids);
    for (const id of ids) await known(url, id);
    await gateway.stop();

    const again = await startGateway({ ...setup, folder });
    const session = await RawSession.open(again.url);
    expect(namesIn((await session.request('tools/list')).result)).toEqual(tools(ids));
    expect(again.logs().filter(({ msg }) => msg === 'server state')).toEqual([]);
  });

  test('of a server that could not give its list is no list, and asked for again by the next gateway', async () => {
    const file = latch();
    const entry = (REFUSAL: string) =>
      fault('hangs-at-list', { env: { FIRST_LIST_AFTER: file.path, REFUSAL } });
    const servers = { failed: entry('-32603'), none: entry('-32601') };
    const gateway = await startGateway({ servers });
    const first = await (await RawSession.open(gateway.url)).request('tools/list');
    // What a server says it does not have is known: it has none.
    expect([namesIn(first.result), markIn(first.result)]).toEqual([[], { servers: ['failed'] }]);
    await gateway.stop();
    file.open();

    const again = await startGateway({ servers, folder: gateway.folder });
    const { result } = await (await RawSession.open(again.url)).request('tools/list');
    expect([namesIn(result), markIn(result)]).toEqual([['failed__late'], undefined]);
    expect(again.logs().filter(({ server, state }) => server === 'none' && state === 'starting')).toEqual([]);
  });

  test('is not started by gateway-stdio for a client that only finds out which era it speaks', async () => {
    const { servers } = held(['a']);
    const wrapper = new StdioWrapper(configured({ servers }));
    wrapper.write(`${prepared({ method: 'server/discover' }).body}\n`);
    wrapper.child.stdin.end();
    expect(await wrapper.exited).toBe(0);
    expect((await wrapper.answer(1)).result.supportedVersions).toContain('2026-07-28');
    expect(wrapper.stderr).not.toContain('server state');
  });

  test('is learnt by gateway-stdio as soon as it is there, unless the file says otherwise', async () => {
    const [one, other] = [held(['a']), held(['a'])];
    one.open('a');
    other.open('a');
    const keen = new StdioWrapper(configured({ servers: one.servers }));
    const settings = { learn: 'on_demand' };
    const lazy = new StdioWrapper(configured({ servers: other.servers, settings }));
    // The one client says nothing at all.
    await lazy.initialize();
    await until('the server to run', () => keen.stderr.includes('"state":"running"'));
    await lazy.request('p', 'ping');
    expect(lazy.stderr).not.toContain('server state');
    for (const { child, exited } of [keen, lazy]) {
      child.stdin.end();
      expect(await exited).toBe(0);
    }
  });
});
