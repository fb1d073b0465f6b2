// A Socket Mode connection (socket-mode.ts) with random events, in simulated time. The platform closes
// sockets, loses and redelivers events, and refuses connections. The store is slow or full. Events are
// acknowledged only when stored, none is lost, and the gateway leaves a socket only for a newer one. The
// socket classes are real; the network connections (wires) are fakes.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { socketTimes } from '../../../../../actors/platforms/chatworkspace/socket/platform-socket.ts';
import { SocketMode } from '../../../../../actors/platforms/chatworkspace/socket/socket-mode.ts';
import type { WireEvents } from '../../../../../actors/platforms/chatworkspace/socket/wire.ts';
import { ConnectionError } from '../../../../../actors/platforms/connections/connector.ts';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  });
});

afterEach(() => {
  vi.useRealTimers();
});

/** A fake wire: one socket between the gateway and the platform. */
class FakeWire {
  readonly #events: WireEvents;
  readonly #world: World;
  /** Frames that arrive after `resume`. */
  readonly #pausedFrames: (() => void)[] = [];
  isOpen = true;
  /** True after `hello`, the first frame of the platform. */
  isGreeted = false;
  /** True after the platform announced that it will close the wire, or closed it. */
  isAnnounced = false;
  /** True if the wire carries nothing any more, although it is open. */
  isSilent = false;
  /** True while the gateway does not read. */
  isPaused = false;
  /** True after the gateway closed the wire. */
  isLeft = false;

  constructor(world: World, events: WireEvents) {
    this.#world = world;
    this.#events = events;
  }

  /** Delivers a frame to the gateway, immediately or on `resume`. */
  deliver(frame: object | string): void {
    if (this.isSilent || !this.isOpen) return;
    const text = typeof frame === 'string' ? frame : JSON.stringify(frame);
    const arrive = (): void => {
      if (!this.isOpen) return;
      const id = /"n":(\d+)/.exec(text)?.[1];
      if (id !== undefined) this.#world.arrived.push(Number(id));
      this.#events.onText(text, text.length);
    };
    if (this.isPaused) this.#pausedFrames.push(arrive);
    else arrive();
  }

  hello(): void {
    this.isGreeted = true;
    this.deliver({ type: 'hello' });
  }

  /** Closes the wire, as the platform or the network does. */
  end(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#events.onClosed('the socket was closed: 1006');
  }

  /** The wire, as the gateway uses it. */
  readonly handle = {
    send: (text: string) => {
      const { envelope_id } = JSON.parse(text) as { envelope_id: string };
      if (this.isOpen && !this.isLeft) this.#world.checkAcknowledged(envelope_id, this);
    },
    ping: () => {
      if (this.isOpen && !this.isSilent) this.#events.onActivity();
    },
    pause: () => {
      this.isPaused = true;
    },
    resume: () => {
      this.isPaused = false;
      for (const arrive of this.#pausedFrames.splice(0)) arrive();
    },
    close: () => {
      this.#leave();
      setTimeout(() => this.end(), 5);
    },
    terminate: () => {
      this.#leave();
      this.isOpen = false;
    },
  };

  /** The gateway closes the wire. */
  #leave(): void {
    if (this.isLeft) return;
    this.isLeft = true;
    if (this.isOpen && this.isGreeted && !this.isSilent) this.#world.checkLeft(this);
  }
}

/** A platform, a store, and a process that reconnects after connection losses. */
class World {
  readonly wires: FakeWire[] = [];
  /** Numbers of the events that are stored. */
  readonly durable = new Set<number>();
  /** Numbers of the events that the gateway acknowledged. */
  readonly acked = new Set<number>();
  /** Numbers of all events, in the order in which the platform sent them. */
  readonly sent: number[] = [];
  /** Numbers of events in the order of their arrival, including repetitions. */
  readonly arrived: number[] = [];
  /** Numbers of events in the order of their transfer to the store. */
  readonly storeCalls: number[] = [];
  readonly #envelopesById = new Map<string, { readonly n: number; readonly wire: FakeWire }>();
  /** Aborts the current connection. */
  #closing = new AbortController();
  /** Number of next connections that the platform refuses. */
  refusedOpens = 0;
  /** Store operation duration. */
  storeMs = 0;
  /** Number of next events that the store refuses. */
  storeFailures = 0;
  /** Number of next sockets that receive no greeting. */
  ungreetedSockets = 0;
  /** True after an intended close: no open socket is required. */
  mayLeaveLastSocket = false;
  mode: SocketMode | undefined;
  #envelopes = 0;
  #isOver = false;

  connect(): void {
    if (this.#isOver) return;
    this.mayLeaveLastSocket = false;
    this.#closing = new AbortController();
    const mode = new SocketMode(
      {
        app: 'A1',
        log: silentLog,
        times: socketTimes,
        address: async () => {
          if (this.refusedOpens > 0) {
            this.refusedOpens -= 1;
            throw new ConnectionError('refused open', { kind: 'transient' });
          }
          return 'ws://x';
        },
        wires: {
          connect: (_, events) => {
            expect(this.#isOver).toBe(false);
            const wire = new FakeWire(this, events);
            this.wires.push(wire);
            expect(this.openWires.length).toBeLessThanOrEqual(3);
            if (this.ungreetedSockets > 0) this.ungreetedSockets -= 1;
            else setTimeout(() => wire.isOpen && wire.hello(), 20);
            return wire.handle;
          },
        },
        accept: ({ payload }) => this.#store((payload as { n: number }).n),
      },
      this.#closing.signal,
    );
    this.mode = mode;
    mode.closed.catch(() => {}).then(() => setTimeout(() => this.connect(), 250));
  }

  get openWires(): readonly FakeWire[] {
    return this.wires.filter(({ isOpen, isLeft }) => isOpen && !isLeft);
  }

  /** Wires on which the platform delivers events. */
  get working(): readonly FakeWire[] {
    return this.openWires.filter(({ isGreeted }) => isGreeted);
  }

  /** Sends a new event. `socket` selects one of the working wires. */
  send(socket: number): void {
    const n = this.sent.length + 1;
    this.sent.push(n);
    this.deliver(n, socket);
  }

  /** Checks a working wire that the gateway left. */
  checkLeft(wire: FakeWire): void {
    if (this.mayLeaveLastSocket) return;
    // The newer socket may be lost in the meantime, which is not an error of the gateway.
    const later = this.wires.slice(this.wires.indexOf(wire) + 1);
    expect(later.some(({ isGreeted }) => isGreeted)).toBe(true);
  }

  /** Checks an acknowledgement: its event is stored, and it arrives on the wire of its envelope. */
  checkAcknowledged(envelope: string, wire: FakeWire): void {
    const sent = this.#envelopesById.get(envelope);
    expect(sent?.wire).toBe(wire);
    if (sent === undefined) return;
    expect(this.durable.has(sent.n)).toBe(true);
    this.acked.add(sent.n);
  }

  async end(how: 'close' | 'abort'): Promise<void> {
    this.#isOver = true;
    this.mayLeaveLastSocket = true;
    if (how === 'abort') this.#closing.abort();
    const closing = this.mode?.close(3_000);
    await vi.advanceTimersByTimeAsync(how === 'abort' ? 0 : 4_000);
    await closing;
    expect(this.openWires).toEqual([]);
  }

  /** Delivers an event, and repeats that every 3 s until it is acknowledged. */
  deliver(n: number, socket: number): void {
    if (this.acked.has(n) || this.#isOver) return;
    const { working } = this;
    const wire = working[socket % Math.max(1, working.length)];
    if (wire !== undefined) {
      this.#envelopes += 1;
      const envelope_id = `e${this.#envelopes}`;
      this.#envelopesById.set(envelope_id, { n, wire });
      wire.deliver({ envelope_id, type: 'events_api', payload: { n } });
    }
    setTimeout(() => this.deliver(n, socket + 1), 3_000);
  }

  async #store(n: number): Promise<void> {
    this.storeCalls.push(n);
    const isRefused = this.storeFailures > 0;
    if (isRefused) this.storeFailures -= 1;
    if (this.storeMs > 0) await new Promise((done) => setTimeout(done, this.storeMs));
    if (isRefused) throw new Error('full');
    this.durable.add(n);
  }
}

const socketIndex = fc.nat({ max: 3 });
/**
 * Actions of the platform, the network and the store. `which` selects a working wire. `announce` closes a
 * wire after an announcement, `off` disables the app, `cut` closes a wire, `silence` lets it hang, and
 * `garbage` sends invalid frames. `refuse` and `no hello` concern the next connections, `slow` and `full` the
 * store.
 */
const arbHappening = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('say' as const), which: socketIndex }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('announce' as const),
      which: socketIndex,
      reason: fc.constantFrom('warning', 'refresh_requested'),
      closeAfterMs: fc.constantFrom(10, 4_000, 10_000, 60_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('off' as const), which: socketIndex }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cut' as const), which: socketIndex }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('silence' as const), which: socketIndex }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('garbage' as const), which: socketIndex }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('refuse' as const), count: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'no hello' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('slow' as const), ms: fc.constantFrom(0, 5, 700, 8_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('full' as const), count: fc.integer({ min: 1, max: 4 }) }),
  },
);

type Happening = typeof arbHappening extends fc.Arbitrary<infer T> ? T : never;

function applyHappening(world: World, each: Happening): void {
  const { working } = world;
  const wire = 'which' in each ? working[each.which % Math.max(1, working.length)] : undefined;
  switch (each.do) {
    case 'say':
      world.send(each.which);
      break;
    case 'announce':
      wire?.deliver({ type: 'disconnect', reason: each.reason });
      setTimeout(() => wire?.end(), each.closeAfterMs);
      break;
    case 'off':
      world.mayLeaveLastSocket = true;
      wire?.deliver({ type: 'disconnect', reason: 'link_disabled' });
      break;
    case 'cut':
      wire?.end();
      break;
    case 'silence':
      if (wire !== undefined) wire.isSilent = true;
      break;
    case 'garbage':
      for (const text of ['{', '[]', '{"type":"hello"}', 'null', '{"type":"news"}']) wire?.deliver(text);
      break;
    case 'refuse':
      world.refusedOpens += each.count;
      break;
    case 'no hello':
      world.ungreetedSockets += 1;
      break;
    case 'slow':
      world.storeMs = each.ms;
      break;
    case 'full':
      world.storeFailures += each.count;
  }
}

/** Returns true if `all` contains the numbers of `part` in the same order. */
function isSubsequence(part: readonly number[], all: readonly number[]): boolean {
  let from = 0;
  return part.every((n) => {
    from = all.indexOf(n, from) + 1;
    return from > 0;
  });
}

test('socket mode loses no event under any faults: it acknowledges events only when stored, and closes all sockets', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(arbHappening, fc.constantFrom(0, 1, 30, 500, 2_000, 12_000)), { maxLength: 30 }),
      fc.constantFrom('close' as const, 'abort' as const),
      fc.boolean(),
      async (happenings, how, endsCalmly) => {
        const world = new World();
        world.connect();
        for (const [each, ms] of happenings) {
          applyHappening(world, each);
          await vi.advanceTimersByTimeAsync(ms);
        }
        if (endsCalmly) {
          // Without further faults there is one socket, and each event is stored and acknowledged.
          world.storeMs = 0;
          world.storeFailures = 0;
          world.refusedOpens = 0;
          world.ungreetedSockets = 0;
          await vi.advanceTimersByTimeAsync(120_000);
          expect(world.openWires).toHaveLength(1);
          expect(world.working).toHaveLength(1);
          expect([...world.acked].sort()).toEqual([...world.sent].sort());
        }
        expect(isSubsequence(world.storeCalls, world.arrived)).toBe(true);
        await world.end(how);
        vi.clearAllTimers();
      },
    ),
    { numRuns: 400 },
  );
});
