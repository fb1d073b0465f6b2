// State machine of the sockets of one platform connection. The platform greets a new socket, and announces
// that it will close a socket; then the gateway opens the next one. Random events check that no socket is
// lost, and that one socket is always in use, being opened, or due after a pause.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  begin,
  type SocketCommand,
  type SocketEvent,
  step,
} from '../../../../../actors/platforms/chatworkspace/socket/state-machine.ts';

const failure = { kind: 'transient', reason: 'lost' } as const;
const reasons = ['warning', 'refresh_requested', 'too_many_websockets', 'link_disabled', 'news'];

/**
 * Random events of the machine. `which` selects one of the open sockets. `isSoon`: the platform announces the
 * close soon after the greeting.
 */
const anyEvent = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('hello' as const), which: fc.nat() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('disconnect' as const),
      which: fc.nat(),
      // The first two reasons are more frequent.
      reason: fc.constantFrom(...reasons.slice(0, 2), ...reasons),
      isSoon: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('closed' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.constant({ type: 'due' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'close' as const }) },
);

/** The sockets, as the commands of the machine leave them. `life` is the state of the machine. */
class Sockets {
  life = begin().life;
  readonly open = new Set([1]);
  readonly greeted = new Set<number>();
  /** Sockets that the gateway no longer uses, also those in `cut`. */
  readonly left = new Set<number>();
  /** Sockets that the gateway destroyed. */
  readonly cut = new Set<number>();
  isPausing = false;
  ends = 0;
  isCloseRequested = false;

  apply(event: SocketEvent): readonly SocketCommand[] {
    const inUseBefore = this.inUse;
    const { life, commands } = step(this.life, event);
    this.life = life;
    for (const command of commands) this.#do(command, inUseBefore);
    return commands;
  }

  get inUse(): readonly number[] {
    return [...this.open].filter((socket) => this.greeted.has(socket) && !this.left.has(socket));
  }

  #do(command: SocketCommand, inUseBefore: readonly number[]): void {
    // `end` is the last command.
    expect(this.ends).toBe(0);
    if (command.do === 'open') {
      expect(this.life.end).toBeUndefined();
      this.open.add(command.socket);
      // Up to one socket is being opened, and up to three exist.
      expect([...this.open].filter((each) => !this.greeted.has(each) && !this.left.has(each))).toHaveLength(
        1,
      );
    } else if (command.do === 'leave' || command.do === 'cut') {
      this.left.add(command.socket);
      if (command.do === 'cut') this.cut.add(command.socket);
      // The gateway leaves the socket in use only when a newer socket was greeted, or when the connection
      // closes.
      if (inUseBefore.includes(command.socket) && this.life.end === undefined)
        expect(this.inUse).not.toEqual([]);
    } else if (command.do === 'pause') this.isPausing = true;
    else if (command.do === 'end') {
      this.ends += 1;
      expect(this.open.size).toBe(0);
    }
  }
}

test('a connection uses one socket until the platform greets its replacement, tracks all sockets, and closes once', () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
      const sockets = new Sockets();
      for (const randomEvent of events) {
        if (sockets.ends > 0) break;
        const event = eventOf(sockets, randomEvent);
        if (event === undefined) continue;
        sockets.apply(event);
        const { life, isCloseRequested } = sockets;
        // The machine tracks every opened socket until it is closed.
        const trackedSockets = [life.inUse, life.attempt, ...life.leaving].filter(
          (socket) => socket !== undefined,
        );
        if (sockets.ends === 0) expect(trackedSockets.sort()).toEqual([...sockets.open].sort());
        expect(sockets.inUse.length).toBeLessThanOrEqual(1);
        // A cut socket closes immediately.
        expect([...sockets.open].filter((each) => !sockets.cut.has(each)).length).toBeLessThanOrEqual(3);
        expect(sockets.inUse).toEqual(life.inUse === undefined ? [] : [life.inUse]);
        // There is always a socket in use, an attempt to open one (also during a pause), or a final close.
        const isActive = life.inUse !== undefined || life.attempt !== undefined || life.end !== undefined;
        expect(isActive).toBe(true);
        if (life.isRefreshing) expect(life.attempt !== undefined || sockets.isPausing).toBe(true);
        if (isCloseRequested) expect(life.end?.failure).toBeUndefined();
      }
      // The connection is closed when all sockets are closed.
      sockets.apply({ type: 'close' });
      for (const socket of [...sockets.open]) closeSocket(sockets, socket);
      expect(sockets.ends).toBe(1);
    }),
    { numRuns: 1_000 },
  );
});

interface RandomEvent {
  readonly type: SocketEvent['type'];
  readonly which?: number;
  readonly reason?: string;
  readonly isSoon?: boolean;
}

/** Returns the event for the machine; undefined if the event cannot occur or has no effect now. */
function eventOf(sockets: Sockets, input: RandomEvent) {
  const { type, which = 0, reason = '', isSoon = false } = input;
  const open = [...sockets.open];
  const { inUse, attempt } = sockets.life;
  // In three of four cases the likely socket, otherwise few connections would reach a second refresh.
  let likely: number | undefined;
  if (type === 'hello') likely = attempt;
  if (type === 'disconnect') likely = inUse;
  if (which % 4 === 0) likely = undefined;
  const socket = likely ?? open[Math.floor(which / 4) % Math.max(1, open.length)] ?? 0;
  if (type === 'due') {
    if (!sockets.isPausing) return undefined;
    sockets.isPausing = false;
    return { type } as const;
  }
  if (type === 'close') {
    if (sockets.life.end === undefined) sockets.isCloseRequested = true;
    return { type } as const;
  }
  if (type === 'hello') {
    if (sockets.greeted.has(socket)) return undefined;
    sockets.greeted.add(socket);
    // The machine receives no greeting of a socket that the gateway no longer uses.
    return sockets.left.has(socket) ? undefined : ({ type, socket } as const);
  }
  if (type === 'disconnect') return { type, socket, reason, isSoon } as const;
  sockets.open.delete(socket);
  return { type: 'closed', socket, failure } as const;
}

function closeSocket(sockets: Sockets, socket: number): void {
  if (sockets.ends > 0) return;
  sockets.open.delete(socket);
  sockets.apply({ type: 'closed', socket, failure });
}

/** Returns the life and the last commands after these events. */
const after = (...events: readonly SocketEvent[]) =>
  events.reduce(({ life }, event) => step(life, event), begin());
const hello = (socket: number): SocketEvent => ({ type: 'hello', socket });
const disconnect = (socket: number, isSoon = false): SocketEvent => ({
  type: 'disconnect',
  socket,
  isSoon,
  reason: 'refresh_requested',
});
const lost = (socket: number, reason = 'lost'): SocketEvent => ({
  type: 'closed',
  socket,
  failure: { kind: 'transient', reason },
});

test('a repeated greeting of a socket has no effect, and the greeting of a third socket closes the first', () => {
  expect(after(hello(1), hello(1)).commands).toEqual([]);
  expect(after(hello(1), disconnect(1), hello(2), disconnect(2), hello(3)).commands).toEqual([
    { do: 'greet' },
    { do: 'cut', socket: 1 },
    { do: 'leave', socket: 2, isLast: false },
  ]);
});

test('failed sockets are counted since the last greeting, and short-lived sockets only if they are consecutive', () => {
  const again = after(hello(1), disconnect(1), lost(2), { type: 'due' }, hello(3), disconnect(3), lost(4));
  expect(again.commands).toMatchObject([{ do: 'pause', count: 1 }]);
  const brief = [hello(1), disconnect(1, true), hello(2), disconnect(2), hello(3), disconnect(3, true)];
  expect(after(...brief).commands).toEqual([{ do: 'open', socket: 4 }]);
  expect(after(...brief, hello(4), disconnect(4, true)).commands).toMatchObject([{ do: 'pause', count: 1 }]);
});

test('if a socket closes as announced after its replacement failed, the connection ends with the failure of the replacement', () => {
  const { commands } = after(hello(1), disconnect(1), lost(2, 'the next one failed'), lost(1));
  expect(commands).toMatchObject([{ do: 'end', failure: { reason: 'the next one failed' } }]);
});
