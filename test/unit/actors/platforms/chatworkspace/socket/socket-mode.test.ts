// Socket Mode connection to a platform on loopback, with real sockets: acknowledgements, change of sockets,
// and causes of disconnection.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  MAX_BYTES_IN_PROGRESS,
  MAX_IN_PROGRESS,
} from '../../../../../../actors/platforms/chatworkspace/socket/envelope-intake.ts';
import type { SocketEnvelope } from '../../../../../../actors/platforms/chatworkspace/socket/frame.ts';
import { socketTimes } from '../../../../../../actors/platforms/chatworkspace/socket/platform-socket.ts';
import {
  SocketMode,
  type SocketModeOptions,
} from '../../../../../../actors/platforms/chatworkspace/socket/socket-mode.ts';
import type { Wires } from '../../../../../../actors/platforms/chatworkspace/socket/wire.ts';
import { webSocketWires } from '../../../../../../actors/platforms/chatworkspace/socket/ws-wires.ts';
import { ConnectionError } from '../../../../../../actors/platforms/connections/connector.ts';
import { eventually } from '../../../../../fixtures/automation/automation.ts';
import { type LogLine, TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import type { AppSockets } from '../../../../../fixtures/workspace-platform/app-sockets.ts';
import { WorkspaceSockets } from '../../../../../fixtures/workspace-platform/workspace-sockets.ts';

let platform: WorkspaceSockets;
let app: AppSockets;
let lines: readonly LogLine[];
const closers: (() => Promise<unknown> | undefined)[] = [];

beforeEach(async () => {
  limit = { ...limit, wasExceeded: false };
  platform = await new WorkspaceSockets({ redeliverMs: 300, pingMs: 50 }).start();
  app = platform.of('A1');
});

afterEach(async () => {
  for (const end of closers.splice(0)) await end();
  await platform.stop();
});

const MAX_FRAME = 65_536;
let limit = { maxBytes: MAX_FRAME, maxRedeliveredBytes: 4 * MAX_FRAME, wasExceeded: false };

interface Connection {
  readonly mode: SocketMode;
  readonly accepted: SocketEnvelope[];
  readonly ending: AbortController;
}

async function create({ times, ...more }: Partial<SocketModeOptions> = {}): Promise<Connection> {
  const accepted: SocketEnvelope[] = [];
  const host = new TestSourceHost();
  lines = host.lines;
  const stopController = new AbortController();
  const mode = new SocketMode(
    {
      app: 'A1',
      log: host.log,
      address: async () => platform.newUrl('A1'),
      wires: await webSocketWires(limit),
      times: { ...socketTimes, lingerMs: 100, ...times },
      ...more,
      accept: async (envelope) => {
        accepted.push(envelope);
        await more.accept?.(envelope);
      },
    },
    stopController.signal,
  );
  closers.push(() => mode.close(0));
  return { mode, accepted, ending: stopController };
}

async function openConnection(more: Partial<SocketModeOptions> = {}): Promise<Connection> {
  const connection = await create(more);
  await connection.mode.greeted;
  await eventually(() => expect(app.open).toHaveLength(1));
  return connection;
}

/**
 * Returns the error that closed the connection. The message must not contain the address, which is a
 * credential.
 */
async function endOf({ closed }: SocketMode): Promise<ConnectionError> {
  const error = await closed.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).not.toMatch(/ticket|127\.0\.0\.1/);
  return error as ConnectionError;
}

const payloadOf = (n: number) => ({ event: { type: 'app_mention', text: `hello ${n}` } });

/** Creates a promise that the test resolves. */
function createGate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('an envelope', () => {
  test('is acknowledged with only its id, once it is durable', async () => {
    const store = createGate();
    const { accepted } = await openConnection({ accept: () => store.opened });
    const one = app.deliver('events_api', payloadOf(1));
    await eventually(() => expect(accepted).toHaveLength(1));
    await new Promise((done) => setTimeout(done, 50));
    expect(one.ackedAt).toBeUndefined();
    store.open();
    await eventually(() => expect(one.ackedAt).toBeDefined());
    expect(accepted[0]).toEqual({ id: one.ids[0], type: 'events_api', payload: payloadOf(1) });
    expect(one.response).toBeUndefined();
    expect(app.unexpectedMessages).toEqual([]);
  });

  test('is not acknowledged and is redelivered while the store is full, with one log line', async () => {
    let isFull = true;
    const { accepted } = await openConnection({
      accept: async () => {
        if (isFull) throw new Error('the disk is full');
      },
    });
    const all = [1, 2, 3].map((n) => app.deliver('events_api', payloadOf(n)));
    await eventually(() => expect(accepted.length).toBeGreaterThan(3));
    expect(all.map(({ ackedAt }) => ackedAt)).toEqual([undefined, undefined, undefined]);
    isFull = false;
    await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(lines[0]?.fields).toEqual({ app: 'A1', reason: 'the disk is full' });
  });

  test('of an unknown kind or without payload is acknowledged, and malformed frames are ignored', async () => {
    const { accepted } = await openConnection();
    const [socket] = app.open;
    const raw = [
      '',
      '{',
      'null',
      '7',
      '[]',
      '{}',
      '{"type":7}',
      '{"envelope_id":7}',
      '{"type":"disconnected"}',
    ];
    for (const text of raw) socket?.sendRaw(text);
    socket?.sendRaw(Buffer.from([0, 255, 1]));
    const unknown = app.deliver('news', { a: 1 });
    const empty = app.deliver('events_api', undefined);
    await eventually(() => expect([unknown.ackedAt, empty.ackedAt]).not.toContain(undefined));
    expect(accepted.map(({ type }) => type)).toEqual(['news', 'events_api']);
    expect(app.opened).toBe(1);
  });

  test('is stored in order, and a slow store makes the platform wait', async () => {
    const store = createGate();
    const { accepted } = await openConnection({ accept: () => store.opened });
    // Larger than the socket buffers.
    const text = 'x'.repeat(20_000);
    const all = Array.from({ length: 1_000 }, (_, n) => app.deliver('slash_commands', { n, text }));
    await eventually(() => expect(accepted.length).toBeGreaterThanOrEqual(MAX_IN_PROGRESS));
    await new Promise((done) => setTimeout(done, 200));
    // A read may contain several frames.
    expect(accepted.length).toBeLessThan(MAX_IN_PROGRESS + 10);
    expect(accepted.length * text.length).toBeLessThan(MAX_BYTES_IN_PROGRESS);
    store.open();
    await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
    const first = new Map(accepted.map(({ payload }, at) => [(payload as { n: number }).n, at]));
    expect(first.size).toBe(1_000);
    const numbers = [...new Set(accepted.map(({ payload }) => (payload as { n: number }).n))];
    expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  }, 60_000);
});

describe('when the end of a socket is announced', () => {
  test.each(['warning', 'refresh_requested'])(
    '(%s) the next socket is greeted before the old one closes, which acknowledges its own envelopes',
    async (reason) => {
      const store = createGate();
      let isSlow = false;
      const { accepted } = await openConnection({
        accept: async () => (isSlow ? store.opened : undefined),
      });
      const [old] = app.open;
      isSlow = true;
      const before = app.deliver('events_api', payloadOf(1), old);
      app.announceEnd(reason);
      await eventually(() => expect(app.open).toHaveLength(2));
      const late = app.deliver('events_api', payloadOf(2), old);
      await eventually(() => expect(accepted.length).toBeGreaterThanOrEqual(2));
      expect(app.open).toContain(old);
      store.open();
      await eventually(() => expect(app.open).not.toContain(old));
      expect(app.open).toHaveLength(1);
      // Events are acknowledged on the socket that delivered them, at the first delivery.
      expect([before, late].map(({ ackedAt }) => ackedAt)).not.toContain(undefined);
      expect(app).toMatchObject({ opened: 2, mostOpen: 2, withoutSocketMs: 0, unexpectedMessages: [] });
    },
  );

  test('and no other socket can be opened, the current socket stays in use and attempts are repeated', async () => {
    let requests = 0;
    const address = async (): Promise<string> => {
      requests += 1;
      if (requests === 2) throw new ConnectionError('invalid_auth', { kind: 'transient' });
      return platform.newUrl('A1');
    };
    await openConnection({ address });
    const [old] = app.open;
    app.faults.push({ kind: 'refuse', status: 503 });
    app.announceEnd('warning', { of: old });
    const meanwhile = app.deliver('events_api', payloadOf(1));
    await eventually(() => expect(app.open.includes(old as never)).toBe(false));
    expect(requests).toBe(4);
    expect(meanwhile.ackedAt).toBeDefined();
    expect(app).toMatchObject({ mostOpen: 2, withoutSocketMs: 0 });
    const warned = lines.filter(({ level }) => level === 'warn');
    expect(warned.map(({ fields }) => fields.reason)).toEqual([
      'invalid_auth',
      'the platform refused a socket with status 503',
    ]);
  });

  test('again right after each new connection, reconnects have growing pauses', async () => {
    const requests: number[] = [];
    await openConnection({
      address: async () => {
        requests.push(performance.now());
        return platform.newUrl('A1');
      },
    });
    const announcing = setInterval(() => {
      for (const of of app.open) app.announceEnd('refresh_requested', { of });
    }, 5);
    await eventually(() => expect(requests.length).toBeGreaterThanOrEqual(4));
    clearInterval(announcing);
    const pauses = requests.slice(2, 4).map((at, index) => at - (requests[index + 1] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(240);
    expect(pauses[1]).toBeGreaterThanOrEqual(490);
    expect(app.withoutSocketMs).toBe(0);
  });

  test('and the socket closes before the next one is ready, the connection waits for the next one', async () => {
    const address = createGate();
    let requests = 0;
    const { mode } = await openConnection({
      address: async () => {
        requests += 1;
        if (requests > 1) await address.opened;
        return platform.newUrl('A1');
      },
    });
    const [old] = app.open;
    app.announceEnd('refresh_requested');
    await eventually(() => expect(requests).toBe(2));
    old?.cut();
    await eventually(() => expect(app.open).toHaveLength(0));
    address.open();
    await eventually(() => expect(app.open).toHaveLength(1));
    const one = app.deliver('events_api', payloadOf(1));
    await eventually(() => expect(one.ackedAt).toBeDefined());
    await mode.close(1_000);
    await eventually(() => expect(app.open).toHaveLength(0));
  });
});

describe('a connection ends', () => {
  test.each([
    ['link_disabled', 'refused'],
    ['too_many_websockets', 'conflict'],
  ])('for the disconnect reason %s, which the error contains', async (reason, kind) => {
    const { mode } = await openConnection();
    app.announceEnd(reason);
    const end = await endOf(mode);
    expect(end).toMatchObject({ kind, message: expect.stringContaining(reason) });
    await eventually(() => expect(app.open).toHaveLength(0));
  });

  test('if an app has its maximum number of sockets, before it is greeted', async () => {
    for (let i = 0; i < 10; i += 1) await create().then(({ mode }) => mode.greeted);
    const { mode } = await create();
    await expect(mode.greeted).rejects.toMatchObject({ kind: 'conflict' });
    expect((await endOf(mode)).message).toContain('too_many_websockets');
  });

  test('with a transient error if the line is cut', async () => {
    const { mode } = await openConnection();
    app.open[0]?.cut();
    expect(await endOf(mode)).toMatchObject({ kind: 'transient', message: 'the socket was closed: 1006' });
  });

  test('if the platform is silent for too long; until then both sides answer pings', async () => {
    const { mode } = await openConnection({ times: { ...socketTimes, pingMs: 20, silenceMs: 1_000 } });
    const [socket] = app.open;
    await eventually(() => expect(socket?.pongs).toBeGreaterThan(2));
    expect(socket?.pings).toBeGreaterThan(2);
    socket?.fallSilent();
    expect((await endOf(mode)).message).toBe('no sign of life from the platform for 1 s');
  });

  test('for a frame above the size limit', async () => {
    const { mode, accepted } = await openConnection();
    app.open[0]?.sendRaw(JSON.stringify({ envelope_id: 'x', text: 'y'.repeat(MAX_FRAME) }));
    expect((await endOf(mode)).message).toMatch(
      /exceeded the limit of 65536 bytes \(WS_ERR_UNSUPPORTED_MESSAGE_LENGTH\)/,
    );
    expect(accepted).toEqual([]);
  });

  test('for an oversized envelope; when redelivered it is acknowledged, dropped and logged', async () => {
    const huge = { event: { type: 'app_mention', text: 'y'.repeat(MAX_FRAME) } };
    const first = await openConnection();
    const one = app.deliver('events_api', huge);
    expect((await endOf(first.mode)).message).toContain('65536 bytes');
    const { accepted, mode } = await openConnection();
    await eventually(() => expect(one.ackedAt).toBeDefined());
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ app: 'A1' }) }),
    );
    const other = app.deliver('events_api', payloadOf(1));
    await eventually(() => expect(other.ackedAt).toBeDefined());
    expect(accepted).toHaveLength(1);
    // The second limit still applies.
    app.open[0]?.sendRaw(JSON.stringify({ envelope_id: 'x', text: 'y'.repeat(4 * MAX_FRAME) }));
    expect((await endOf(mode)).message).toContain('262144 bytes');
  });

  test.each([
    [
      { kind: 'refuse', status: 429, headers: { 'retry-after': '7' } },
      { retryAfterMs: 7_000, message: /429/ },
    ],
    [{ kind: 'no hello' }, { message: /no greeting from the platform within 0.2 s/ }],
    [{ kind: 'cut' }, { message: /closed: 1006/ }],
  ] as const)('if it cannot be opened: %o', async (fault, { message, ...fields }) => {
    app.faults.push(fault);
    const { mode } = await create({ times: { ...socketTimes, helloMs: 200 } });
    await expect(mode.greeted).rejects.toThrow(message);
    expect(await endOf(mode)).toMatchObject({ kind: 'transient', ...fields });
  });

  test.each(['nothing', 'http://127.0.0.1:1/x', '', 'ws://127.0.0.1:1/x#y'])(
    'for an invalid address: %s',
    async (url) => {
      const { mode } = await create({ address: async () => url });
      expect((await endOf(mode)).message).toBe('the address from the platform is not a WebSocket URL');
    },
  );

  test('if no socket can be created for the address, without the address in the error', async () => {
    const wires: Wires = {
      connect: (url) => {
        throw new SyntaxError(`Invalid URL: ${url}`);
      },
    };
    const { mode } = await create({ wires, address: async () => 'wss://127.0.0.1/ticket' });
    expect(await endOf(mode)).toMatchObject({
      kind: 'transient',
      message: 'could not open a socket at the address from the platform',
    });
  });

  test('if the address request times out', async () => {
    const { mode } = await create({
      address: (signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      times: { ...socketTimes, addressMs: 50 },
    });
    expect((await endOf(mode)).message).toBe('no socket address from the platform within 0.05 s');
  });
});

describe('a closed connection', () => {
  test('accepts no new envelopes, acknowledges pending envelopes, and leaves no socket', async () => {
    const store = createGate();
    const { mode, accepted } = await openConnection({ accept: () => store.opened });
    const one = app.deliver('events_api', payloadOf(1));
    await eventually(() => expect(accepted).toHaveLength(1));
    const closing = mode.close(3_000);
    const two = app.deliver('events_api', payloadOf(2));
    await new Promise((done) => setTimeout(done, 50));
    store.open();
    await closing;
    await eventually(() => expect(app.open).toHaveLength(0));
    expect([one.ackedAt === undefined, two.ackedAt === undefined]).toEqual([false, true]);
    expect(accepted).toHaveLength(1);
  });

  test('waits at most for the given time', async () => {
    const { mode, accepted } = await openConnection({ accept: () => new Promise(() => {}) });
    app.deliver('events_api', payloadOf(1));
    await eventually(() => expect(accepted).toHaveLength(1));
    await mode.close(20);
    await eventually(() => expect(app.open).toHaveLength(0));
  });

  test('ends immediately on abort, also before the greeting', async () => {
    const first = await openConnection();
    first.ending.abort();
    await first.mode.closed;
    await eventually(() => expect(app.open).toHaveLength(0));
    app.faults.push({ kind: 'no hello' });
    const second = await create();
    await eventually(() => expect(app.opened).toBe(2));
    second.ending.abort();
    await expect(second.mode.greeted).rejects.toThrow('closed before');
    await second.mode.closed;
  });
});
