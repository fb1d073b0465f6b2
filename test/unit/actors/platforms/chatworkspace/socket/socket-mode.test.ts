// A connection by sockets against real ones of a platform on loopback: what is acknowledged when and where, how a socket follows
// another, what ends it, and in which words (WK1–WK4, EI1–EI3, WW1).

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  MAX_BYTES_UNDER_WAY,
  MAX_UNDER_WAY,
} from '../../../../../../actors/platforms/chatworkspace/socket/envelope-intake.ts';
import type { Envelope } from '../../../../../../actors/platforms/chatworkspace/socket/frame.ts';
import { socketTimes } from '../../../../../../actors/platforms/chatworkspace/socket/platform-socket.ts';
import {
  SocketMode,
  type SocketModeOptions,
} from '../../../../../../actors/platforms/chatworkspace/socket/socket-mode.ts';
import { webSocketWires } from '../../../../../../actors/platforms/chatworkspace/socket/web-socket.ts';
import type { Wires } from '../../../../../../actors/platforms/chatworkspace/socket/wire.ts';
import { ConnectionError } from '../../../../../../actors/platforms/connections/connector.ts';
import { eventually } from '../../../../../fixtures/automation/automation.ts';
import { type LogLine, TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import type { AppSockets } from '../../../../../fixtures/workspace-platform/app-sockets.ts';
import { WorkspaceSockets } from '../../../../../fixtures/workspace-platform/workspace-sockets.ts';

let platform: WorkspaceSockets;
let app: AppSockets;
let lines: readonly LogLine[];
const ends: (() => Promise<unknown> | undefined)[] = [];

beforeEach(async () => {
  limit = { ...limit, wasExceeded: false };
  platform = await new WorkspaceSockets({ redeliverMs: 300, pingMs: 50 }).start();
  app = platform.of('A1');
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await platform.stop();
});

const MAX_FRAME = 65_536;
let limit = { maxBytes: MAX_FRAME, maxAgainBytes: 4 * MAX_FRAME, wasExceeded: false };

interface Made {
  readonly mode: SocketMode;
  readonly taken: Envelope[];
  readonly ending: AbortController;
}

async function made({ times, ...more }: Partial<SocketModeOptions> = {}): Promise<Made> {
  const taken: Envelope[] = [];
  const host = new TestSourceHost();
  lines = host.lines;
  const ending = new AbortController();
  const mode = new SocketMode(
    {
      app: 'A1',
      log: host.log,
      address: async () => platform.newUrl('A1'),
      wires: await webSocketWires(limit),
      times: { ...socketTimes, lingerMs: 100, ...times },
      ...more,
      take: async (envelope) => {
        taken.push(envelope);
        await more.take?.(envelope);
      },
    },
    ending.signal,
  );
  ends.push(() => mode.close(0));
  return { mode, taken, ending };
}

async function connected(more: Partial<SocketModeOptions> = {}): Promise<Made> {
  const it = await made(more);
  await it.mode.greeted;
  await eventually(() => expect(app.open).toHaveLength(1));
  return it;
}

/** What it ends with; what is in it is said to people, and must not have the address in it. */
async function endOf({ closed }: SocketMode): Promise<ConnectionError> {
  const error = await closed.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConnectionError);
  expect((error as Error).message).not.toMatch(/ticket|127\.0\.0\.1/);
  return error as ConnectionError;
}

const said = (n: number) => ({ event: { type: 'app_mention', text: `hello ${n}` } });

/** Something that is ended from outside. */
function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('an envelope', () => {
  test('is acknowledged by its id, and nothing else, when it is durable and not before', async () => {
    const store = gate();
    const { taken } = await connected({ take: () => store.opened });
    const one = app.deliver('events_api', said(1));
    await eventually(() => expect(taken).toHaveLength(1));
    await new Promise((done) => setTimeout(done, 50));
    expect(one.ackedAt).toBeUndefined();
    store.open();
    await eventually(() => expect(one.ackedAt).toBeDefined());
    expect(taken[0]).toEqual({ id: one.ids[0], type: 'events_api', payload: said(1) });
    expect(one.response).toBeUndefined();
    expect(app.strange).toEqual([]);
  });

  test('that cannot be kept is not acknowledged, and comes again; the log says so once', async () => {
    let isFull = true;
    const { taken } = await connected({
      take: async () => {
        if (isFull) throw new Error('the disk is full');
      },
    });
    const all = [1, 2, 3].map((n) => app.deliver('events_api', said(n)));
    await eventually(() => expect(taken.length).toBeGreaterThan(3));
    expect(all.map(({ ackedAt }) => ackedAt)).toEqual([undefined, undefined, undefined]);
    isFull = false;
    await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
    expect(lines[0]?.fields).toEqual({ app: 'A1', reason: 'the disk is full' });
  });

  test('of an unknown kind, or without anything in it, is acknowledged; what is none breaks nothing', async () => {
    const { taken } = await connected();
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
    expect(taken.map(({ type }) => type)).toEqual(['news', 'events_api']);
    expect(app.opened).toBe(1);
  });

  test('comes to the store in its order, and a store that is slow makes the platform wait', async () => {
    const store = gate();
    const { taken } = await connected({ take: () => store.opened });
    // Together more than a socket of the system keeps.
    const text = 'x'.repeat(20_000);
    const all = Array.from({ length: 1_000 }, (_, n) => app.deliver('slash_commands', { n, text }));
    await eventually(() => expect(taken.length).toBeGreaterThanOrEqual(MAX_UNDER_WAY));
    await new Promise((done) => setTimeout(done, 200));
    // One read brings some more.
    expect(taken.length).toBeLessThan(MAX_UNDER_WAY + 10);
    expect(taken.length * text.length).toBeLessThan(MAX_BYTES_UNDER_WAY);
    store.open();
    await eventually(() => expect(all.every(({ ackedAt }) => ackedAt !== undefined)).toBe(true));
    const first = new Map(taken.map(({ payload }, at) => [(payload as { n: number }).n, at]));
    expect(first.size).toBe(1_000);
    const numbers = [...new Set(taken.map(({ payload }) => (payload as { n: number }).n))];
    expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
  }, 20_000);
});

describe('when a socket is to end', () => {
  test.each(['warning', 'refresh_requested'])(
    '(%s) the next one is greeted first, and what comes on the first is answered there',
    async (reason) => {
      const store = gate();
      let isSlow = false;
      const { taken } = await connected({ take: async () => (isSlow ? store.opened : undefined) });
      const [old] = app.open;
      isSlow = true;
      const before = app.deliver('events_api', said(1), old);
      app.announceEnd(reason);
      await eventually(() => expect(app.open).toHaveLength(2));
      const late = app.deliver('events_api', said(2), old);
      await eventually(() => expect(taken.length).toBeGreaterThanOrEqual(2));
      expect(app.open).toContain(old);
      store.open();
      await eventually(() => expect(app.open).not.toContain(old));
      expect(app.open).toHaveLength(1);
      // Each on the socket that it came on, and so the first time.
      expect([before, late].map(({ ackedAt }) => ackedAt)).not.toContain(undefined);
      expect(app).toMatchObject({ opened: 2, mostOpen: 2, aloneMs: 0, strange: [] });
    },
  );

  test('and no other can be had, the one in use goes on, and another is asked for until there is one', async () => {
    let asked = 0;
    const address = async (): Promise<string> => {
      asked += 1;
      if (asked === 2) throw new ConnectionError('invalid_auth', { kind: 'transient' });
      return platform.newUrl('A1');
    };
    await connected({ address });
    const [old] = app.open;
    app.faults.push({ kind: 'refuse', status: 503 });
    app.announceEnd('warning', { of: old });
    const meanwhile = app.deliver('events_api', said(1));
    await eventually(() => expect(app.open.includes(old as never)).toBe(false));
    expect(asked).toBe(4);
    expect(meanwhile.ackedAt).toBeDefined();
    expect(app).toMatchObject({ mostOpen: 2, aloneMs: 0 });
    const warned = lines.filter(({ level }) => level === 'warn');
    expect(warned.map(({ fields }) => fields.reason)).toEqual([
      'invalid_auth',
      'the platform refused a socket with status 503',
    ]);
  });

  test('again and again, soon after each greeting, the next one is asked for at growing pauses', async () => {
    const asked: number[] = [];
    await connected({
      address: async () => {
        asked.push(performance.now());
        return platform.newUrl('A1');
      },
    });
    const announcing = setInterval(() => {
      for (const of of app.open) app.announceEnd('refresh_requested', { of });
    }, 5);
    await eventually(() => expect(asked.length).toBeGreaterThanOrEqual(4));
    clearInterval(announcing);
    const pauses = asked.slice(2, 4).map((at, index) => at - (asked[index + 1] ?? 0));
    expect(pauses[0]).toBeGreaterThanOrEqual(240);
    expect(pauses[1]).toBeGreaterThanOrEqual(490);
    expect(app.aloneMs).toBe(0);
  });

  test('and ends before another is greeted, that one is waited for', async () => {
    const address = gate();
    let asked = 0;
    const { mode } = await connected({
      address: async () => {
        asked += 1;
        if (asked > 1) await address.opened;
        return platform.newUrl('A1');
      },
    });
    const [old] = app.open;
    app.announceEnd('refresh_requested');
    await eventually(() => expect(asked).toBe(2));
    old?.cut();
    await eventually(() => expect(app.open).toHaveLength(0));
    address.open();
    await eventually(() => expect(app.open).toHaveLength(1));
    const one = app.deliver('events_api', said(1));
    await eventually(() => expect(one.ackedAt).toBeDefined());
    await mode.close(1_000);
    await eventually(() => expect(app.open).toHaveLength(0));
  });
});

describe('what ends a connection', () => {
  test.each([
    ['link_disabled', 'refused'],
    ['too_many_websockets', 'conflict'],
  ])('is the word %s, in the words of the platform', async (reason, kind) => {
    const { mode } = await connected();
    app.announceEnd(reason);
    const end = await endOf(mode);
    expect(end).toMatchObject({ kind, message: expect.stringContaining(reason) });
    await eventually(() => expect(app.open).toHaveLength(0));
  });

  test('is that others hold as many sockets as an app may have, before it is greeted', async () => {
    for (let i = 0; i < 10; i += 1) await made().then(({ mode }) => mode.greeted);
    const { mode } = await made();
    await expect(mode.greeted).rejects.toMatchObject({ kind: 'conflict' });
    expect((await endOf(mode)).message).toContain('too_many_websockets');
  });

  test('is a line that is cut, which passes', async () => {
    const { mode } = await connected();
    app.open[0]?.cut();
    expect(await endOf(mode)).toMatchObject({ kind: 'transient', message: 'the socket was closed: 1006' });
  });

  test('is a platform that gives no sign of life; pings of either side are answered until then', async () => {
    const { mode } = await connected({ times: { ...socketTimes, pingMs: 20, silenceMs: 1_000 } });
    const [socket] = app.open;
    await eventually(() => expect(socket?.pongs).toBeGreaterThan(2));
    expect(socket?.pings).toBeGreaterThan(2);
    socket?.fallSilent();
    expect((await endOf(mode)).message).toBe('the platform gave no sign of life for 1 s');
  });

  test('is a frame that is larger than what is read', async () => {
    const { mode, taken } = await connected();
    app.open[0]?.sendRaw(JSON.stringify({ envelope_id: 'x', text: 'y'.repeat(MAX_FRAME) }));
    expect((await endOf(mode)).message).toMatch(
      /larger than the 65536 bytes that are read \(WS_ERR_UNSUPPORTED_MESSAGE_LENGTH\)/,
    );
    expect(taken).toEqual([]);
  });

  test('is such a frame once: where it comes again it is acknowledged, dropped and told (WW1)', async () => {
    const huge = { event: { type: 'app_mention', text: 'y'.repeat(MAX_FRAME) } };
    const first = await connected();
    const one = app.deliver('events_api', huge);
    expect((await endOf(first.mode)).message).toContain('65536 bytes');
    const { taken, mode } = await connected();
    await eventually(() => expect(one.ackedAt).toBeDefined());
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ app: 'A1' }) }),
    );
    const other = app.deliver('events_api', said(1));
    await eventually(() => expect(other.ackedAt).toBeDefined());
    expect(taken).toHaveLength(1);
    // Nobody reads without a bound.
    app.open[0]?.sendRaw(JSON.stringify({ envelope_id: 'x', text: 'y'.repeat(4 * MAX_FRAME) }));
    expect((await endOf(mode)).message).toContain('262144 bytes');
  });

  test.each([
    [
      { kind: 'refuse', status: 429, headers: { 'retry-after': '7' } },
      { retryAfterMs: 7_000, message: /429/ },
    ],
    [{ kind: 'no hello' }, { message: /did not greet the socket within 0.2 s/ }],
    [{ kind: 'cut' }, { message: /closed: 1006/ }],
  ] as const)('is that it cannot be opened: %o', async (fault, { message, ...fields }) => {
    app.faults.push(fault);
    const { mode } = await made({ times: { ...socketTimes, helloMs: 200 } });
    await expect(mode.greeted).rejects.toThrow(message);
    expect(await endOf(mode)).toMatchObject({ kind: 'transient', ...fields });
  });

  test.each(['nothing', 'http://127.0.0.1:1/x', '', 'ws://127.0.0.1:1/x#y'])(
    'is an address that is none: %s',
    async (url) => {
      const { mode } = await made({ address: async () => url });
      expect((await endOf(mode)).message).toBe('the platform gave an address that is none of a socket');
    },
  );

  test('is an address of which no socket can be made, and nothing of it is said', async () => {
    const wires: Wires = {
      connect: (url) => {
        throw new SyntaxError(`Invalid URL: ${url}`);
      },
    };
    const { mode } = await made({ wires, address: async () => 'wss://127.0.0.1/ticket' });
    expect(await endOf(mode)).toMatchObject({
      kind: 'transient',
      message: 'no socket could be made of the address that the platform gave',
    });
  });

  test('is an address that does not come', async () => {
    const { mode } = await made({
      address: (signal) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
      times: { ...socketTimes, addressMs: 50 },
    });
    expect((await endOf(mode)).message).toBe('the platform gave no address of a socket within 0.05 s');
  });
});

describe('a connection that is closed', () => {
  test('takes nothing new, acknowledges what is under way, and leaves no socket', async () => {
    const store = gate();
    const { mode, taken } = await connected({ take: () => store.opened });
    const one = app.deliver('events_api', said(1));
    await eventually(() => expect(taken).toHaveLength(1));
    const closing = mode.close(3_000);
    const two = app.deliver('events_api', said(2));
    await new Promise((done) => setTimeout(done, 50));
    store.open();
    await closing;
    await eventually(() => expect(app.open).toHaveLength(0));
    expect([one.ackedAt === undefined, two.ackedAt === undefined]).toEqual([false, true]);
    expect(taken).toHaveLength(1);
  });

  test('does not wait longer than it is given', async () => {
    const { mode, taken } = await connected({ take: () => new Promise(() => {}) });
    app.deliver('events_api', said(1));
    await eventually(() => expect(taken).toHaveLength(1));
    await mode.close(20);
    await eventually(() => expect(app.open).toHaveLength(0));
  });

  test('by its signal ends at once, and before it is greeted as well', async () => {
    const first = await connected();
    first.ending.abort();
    await first.mode.closed;
    await eventually(() => expect(app.open).toHaveLength(0));
    app.faults.push({ kind: 'no hello' });
    const second = await made();
    await eventually(() => expect(app.opened).toBe(2));
    second.ending.abort();
    await expect(second.mode.greeted).rejects.toThrow('closed before');
    await second.mode.closed;
  });
});
