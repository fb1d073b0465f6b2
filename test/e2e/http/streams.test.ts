// Event streams over raw HTTP: start, content and resumption. For each HTTP engine, with the built program.

import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  apiServer,
  ask,
  call,
  EventReader,
  eventually,
  initialize,
  latch,
  message,
  post,
  postStream,
  rawPost,
} from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';

const talk = (args: Record<string, unknown>, id: unknown = 1, progressToken: unknown = 'tok') =>
  message('tools/call', { name: 'talk', arguments: args, _meta: { progressToken } }, id);
const steps = (reader: EventReader) =>
  reader.messages.map(({ json }) => json.params?.progress ?? json.result?.content[0].text);

interface QuietCall {
  readonly gateway: GatewayProcess;
  readonly address: string;
  /** A call without progress for a long time. */
  readonly quiet: {
    readonly stream: EventReader;
    readonly held: ReturnType<typeof latch>;
    readonly since: number;
  };
}

const all = new Map<string, QuietCall>();

// In parallel, so that all quiet calls run while other tests run.
beforeAll(async () => {
  await Promise.all(
    httpEngines.map(async (http) => {
      const servers = { api: apiServer(), own: apiServer({ isolation: 'session' }) };
      const gateway = await startGateway({ http, servers });
      const address = `${gateway.url}/mcp/api`;
      const session = await initialize(address);
      const gate = latch();
      const stream = postStream(address, call('hold', { until: gate.path }, 'q'), session);
      all.set(http, { gateway, address, quiet: { held: gate, since: Date.now(), stream } });
    }),
  );
});

function quietCallsOf(http: string): QuietCall {
  const calls = all.get(http);
  if (calls === undefined) throw new Error(`no gateway on ${http}`);
  return calls;
}

describe.each(httpEngines)('streams on %s', (http) => {
  let gateway: GatewayProcess;
  let address: string;
  let quiet: QuietCall['quiet'];
  let stats: () => Promise<Record<string, number>>;

  beforeAll(() => {
    ({ gateway, address, quiet } = quietCallsOf(http));
    stats = async () => (await ask(`${gateway.url}/servers/api`)).json;
  });

  test('a call whose first message is its answer gets a JSON response instead of a stream', async () => {
    const session = await initialize(address);
    const answer = await post(address, call('echo', { a: 1 }, 'x'), session);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['mcp-session-id']).toBe(session['mcp-session-id']);
    expect(answer.json.id).toBe('x');
  });

  test('a message before the answer of a call starts a stream, which sends events in order, then the answer, and closes', async () => {
    const session = await initialize(address);
    const stream = postStream(address, talk({ before: 3 }, 'x', 7), session);
    await stream.ended();
    expect(stream.status).toBe(200);
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'mcp-session-id': session['mcp-session-id'],
      'x-request-id': expect.any(String),
    });
    expect(steps(stream)).toEqual([1, 2, 3, 'talked']);
    expect(stream.messages[0]?.json).toMatchObject({
      method: 'notifications/progress',
      params: { progressToken: 7 },
    });
    expect(stream.messages.at(-1)?.json.id).toBe('x');
    const ids = stream.events.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([
    ['2025-11-25', true],
    ['2025-06-18', false],
    ['2025-03-26', false],
  ] as const)('revision %s has an empty priming event: %s', async (version, isPrimed) => {
    const session = await initialize(address, version);
    const posted = postStream(address, talk({ before: 1 }), session);
    await posted.ended();
    const listening = new EventReader(address, { headers: session });
    await listening.opened();
    for (const stream of [posted, listening]) {
      const [first] = stream.events;
      if (isPrimed) {
        expect(first).toMatchObject({ id: expect.stringMatching(/./), data: '' });
        expect(stream.text).toMatch(/^id: .*\nretry: \d+\ndata:\n\n/);
      } else {
        expect(stream.text).toMatch(/^:/);
        expect(first?.data).not.toBe('');
      }
    }
    listening.drop();
  });

  test('a disconnected POST stream is resumed by Last-Event-ID with exactly the missing events', async () => {
    const session = await initialize(address);
    const [one, two] = [latch(), latch()];
    const first = postStream(address, talk({ before: 2, until: one.path, after: 5 }, 'a', 'A'), session);
    const other = postStream(address, talk({ before: 2, until: two.path, after: 5 }, 'b', 'B'), session);
    await first.until('two events', () => first.messages.length === 2);
    await other.until('two events', () => other.messages.length === 2);
    const lastId = first.messages[0]?.id ?? '';
    first.drop();
    const secondReader = new EventReader(address, { headers: { ...session, 'last-event-id': lastId } });
    await secondReader.until('the missed events', () => secondReader.messages.length === 1);
    one.open();
    two.open();
    await secondReader.ended();
    await other.ended();
    expect(steps(secondReader)).toEqual([2, 3, 4, 5, 'talked']);
    expect(secondReader.messages.slice(0, -1).every(({ json }) => json.params.progressToken === 'A')).toBe(
      true,
    );
    expect(secondReader.messages.at(-1)?.json.id).toBe('a');
    expect(secondReader.messages.map(({ id }) => id)).not.toContain(lastId);
    expect(steps(other)).toEqual([1, 2, 3, 4, 5, 'talked']);
    expect(other.messages.at(-1)?.json.id).toBe('b');
  });

  test('the first event of a resumed stream has the Last-Event-ID of the client, not the latest id of the stream', async () => {
    const session = await initialize(address);
    const gate = latch();
    const first = postStream(address, talk({ before: 4, until: gate.path }), session);
    await first.until('four events', () => first.messages.length === 4);
    const lastId = first.messages[1]?.id ?? '';
    first.drop();
    for (let round = 0; round < 3; round += 1) {
      const secondReader = new EventReader(address, { headers: { ...session, 'last-event-id': lastId } });
      await secondReader.until('the missed events', () => secondReader.messages.length === 2);
      expect(secondReader.events[0]).toMatchObject({ id: lastId, data: '' });
      expect(steps(secondReader)).toEqual([3, 4]);
      secondReader.drop();
    }
    gate.open();
  });

  test('a stream that was completed while the client was disconnected sends the rest and closes', async () => {
    const session = await initialize(address);
    const gate = latch();
    const first = postStream(address, talk({ before: 1, until: gate.path, after: 3 }, 'gone'), session);
    await first.until('an event', () => first.messages.length === 1);
    first.drop();
    gate.open();
    await eventually('the end of the call', async () => (await stats()).in_flight === 1);
    const lastId = first.messages[0]?.id ?? '';
    for (let round = 0; round < 2; round += 1) {
      const secondReader = new EventReader(address, { headers: { ...session, 'last-event-id': lastId } });
      await secondReader.ended();
      expect(steps(secondReader)).toEqual([2, 3, 'talked']);
      expect(secondReader.messages.at(-1)?.json.id).toBe('gone');
      expect(secondReader.events[0]?.id).toBe(lastId);
    }
  });

  test('a client receives no messages of another session', async () => {
    const [mine, theirs] = [await initialize(address), await initialize(address)];
    const stream = postStream(address, talk({ before: 2 }), theirs);
    await stream.ended();
    const spy = new EventReader(address, {
      headers: { ...mine, 'last-event-id': stream.events[0]?.id ?? '' },
    });
    await spy.ended();
    expect(spy.messages).toEqual([]);
  });

  test('a disconnected GET stream is resumed by Last-Event-ID, with missed events, and continues', async () => {
    const session = await initialize(address);
    const listening = new EventReader(address, { headers: session });
    await listening.opened();
    await post(address, call('change', { times: 1, every_ms: 1 }), session);
    await listening.until('a notice', () => listening.messages.length === 1);
    const lastId = listening.messages[0]?.id ?? '';
    listening.drop();
    await listening.ended();
    await post(address, call('change', { times: 1, every_ms: 1 }), session);
    // The gateway delays the notice briefly to merge several, then stores it. A resumption before or after
    // that must work.
    const secondReader = new EventReader(address, { headers: { ...session, 'last-event-id': lastId } });
    await secondReader.until('the missed notice', () => secondReader.messages.length === 1);
    await post(address, call('change', { times: 1, every_ms: 1 }), session);
    await secondReader.until('a further notice', () => secondReader.messages.length === 2);
    expect(secondReader.messages.map(({ json }) => json.method)).toEqual(
      Array(2).fill('notifications/tools/list_changed'),
    );
    expect(secondReader.messages.map(({ id }) => id)).not.toContain(lastId);
    secondReader.drop();
  });

  test('a notification sent while the GET stream is disconnected is delivered when the stream resumes', async () => {
    const session = await initialize(address);
    const watcher = await initialize(address);
    const [listening, watching] = [session, watcher].map((headers) => new EventReader(address, { headers }));
    await listening?.opened();
    await watching?.opened();
    const lastId = listening?.events[0]?.id ?? '';
    listening?.drop();
    await listening?.ended();
    await post(address, call('change', { times: 1, every_ms: 1 }), watcher);
    await watching?.until('the notice', ({ messages }) => messages.length === 1);
    const secondReader = new EventReader(address, { headers: { ...session, 'last-event-id': lastId } });
    await secondReader.until('the notice', ({ messages }) => messages.length === 1);
    secondReader.drop();
    watching?.drop();
  });

  test('a second GET stream replaces the first, which closes', async () => {
    const session = await initialize(address);
    const first = new EventReader(address, { headers: session });
    await first.opened();
    const second = new EventReader(address, { headers: session });
    await second.opened();
    await first.ended();
    await post(address, call('change', { times: 1, every_ms: 1 }), session);
    await second.until('the notice', ({ messages }) => messages.length === 1);
    expect(first.messages).toEqual([]);
    second.drop();
  });

  test('a hundred list changes in quick succession cause fewer than twenty notifications', async () => {
    const session = await initialize(address);
    const listening = new EventReader(address, { headers: session });
    await listening.opened();
    await post(address, call('change', { times: 100, every_ms: 0 }), session);
    await listening.until('a notice', ({ messages }) => messages.length > 0);
    expect(listening.messages.length).toBeLessThan(20);
    listening.drop();
  });

  test('at /mcp/:id under session isolation, messages that belong to no call arrive on the GET stream', async () => {
    const own = `${gateway.url}/mcp/own`;
    const session = await initialize(own);
    const listening = new EventReader(own, { headers: session });
    await listening.opened();
    const answer = await post(own, call('change', { times: 1, every_ms: 1 }), session);
    expect(answer.headers['content-type']).toBe('application/json');
    // List changes may be announced as well, because the lists were just cached.
    await listening.until('the notice', ({ messages }) => messages.length > 0);
    expect(new Set(listening.messages.map(({ json }) => json.method))).toEqual(
      new Set(['notifications/tools/list_changed']),
    );
    listening.drop();
  });

  test('a client that closes a POST before the answer does not cancel the call', async () => {
    const session = await initialize(address);
    const gate = latch();
    const body = call('hold', { until: gate.path });
    const before = (await stats()).in_flight ?? 0;
    const dropped = postStream(address, body, session);
    await eventually('the call', async () => (await stats()).in_flight === before + 1);
    dropped.drop();
    expect((await post(address, call('echo'), session)).json.error).toBeUndefined();
    gate.open();
    await eventually('its end', async () => (await stats()).in_flight === before);
  });

  test('a client that reads nothing is cut off, and its buffer is limited', async () => {
    const session = await initialize(address);
    const socket = connect(gateway.port, '127.0.0.1');
    const isClosed = new Promise<void>((closed) => {
      socket.on('error', () => closed()).on('close', () => closed());
    });
    const body = talk({ before: 400, bytes: 100_000 });
    const before = (await stats()).requests ?? 0;
    socket.pause();
    socket.write(rawPost(body, session));
    // 40 MB are sent to it. It is cut off at 16 MB, and the call continues.
    await eventually('the end of the call', async () => {
      const { requests = 0, in_flight } = await stats();
      return requests > before && in_flight === 1;
    });
    expect((await post(address, call('echo'), session)).json.error).toBeUndefined();
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    socket.resume();
    await isClosed;
    expect(received).toBeLessThan(30_000_000);
  });

  test('a call that is silent for some seconds becomes a stream with keepalive comments', async () => {
    const { stream, held, since } = quiet;
    await stream.opened();
    expect(stream.headers['content-type']).toBe('text/event-stream');
    expect(stream.messages).toEqual([]);
    await stream.until('a heartbeat', ({ text }) => /\n\n:.*\n\n/.test(text));
    held.open();
    await stream.ended();
    expect(stream.messages.map(({ json }) => json.id)).toEqual(['q']);
    expect(Date.now() - since).toBeGreaterThan(5_000);
  });
});
