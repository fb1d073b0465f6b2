// Which sockets a connection has, over every order of greetings, announced ends, losses and pauses (NX1–NX5).

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  begin,
  type SocketCommand,
  type SocketEvent,
  step,
} from '../../../../../actors/platforms/chatworkspace/socket/socket-life.ts';

const failure = { kind: 'transient', reason: 'lost' } as const;
const reasons = ['warning', 'refresh_requested', 'too_many_websockets', 'link_disabled', 'news'];

/** `which` chooses among the sockets that are there. */
const happening = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('hello' as const), which: fc.nat() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('told' as const),
      which: fc.nat(),
      reason: fc.constantFrom(...reasons.slice(0, 2), ...reasons),
      isSoon: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('gone' as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.constant({ type: 'due' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'close' as const }) },
);

/** The sockets as they really are. */
class Sockets {
  life = begin().life;
  readonly open = new Set([1]);
  readonly greeted = new Set<number>();
  readonly left = new Set<number>();
  readonly cut = new Set<number>();
  isPausing = false;
  ends = 0;
  isAsked = false;

  take(event: SocketEvent): readonly SocketCommand[] {
    const had = this.inUse;
    const { life, commands } = step(this.life, event);
    this.life = life;
    for (const command of commands) this.#do(command, had);
    return commands;
  }

  get inUse(): readonly number[] {
    return [...this.open].filter((socket) => this.greeted.has(socket) && !this.left.has(socket));
  }

  #do(command: SocketCommand, had: readonly number[]): void {
    // NX4
    expect(this.ends).toBe(0);
    if (command.do === 'open') {
      expect(this.life.end).toBeUndefined();
      this.open.add(command.socket);
      // NX2
      expect([...this.open].filter((each) => !this.greeted.has(each) && !this.left.has(each))).toHaveLength(
        1,
      );
    } else if (command.do === 'leave' || command.do === 'cut') {
      this.left.add(command.socket);
      if (command.do === 'cut') this.cut.add(command.socket);
      // NX1
      if (had.includes(command.socket) && this.life.end === undefined) expect(this.inUse).not.toEqual([]);
    } else if (command.do === 'pause') this.isPausing = true;
    else if (command.do === 'end') {
      this.ends += 1;
      expect(this.open.size).toBe(0);
    }
  }
}

test('one socket is in use until the next one is greeted, none is lost sight of, and the end comes once', () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 40 }), (happenings) => {
      const sockets = new Sockets();
      for (const each of happenings) {
        if (sockets.ends > 0) break;
        const event = eventOf(sockets, each);
        if (event === undefined) continue;
        sockets.take(event);
        const { life, isAsked } = sockets;
        // One that was cut may be greeted still, before it is gone.
        const known = [life.inUse, life.attempt, ...life.left].filter((socket) => socket !== undefined);
        if (sockets.ends === 0) expect(known.sort()).toEqual([...sockets.open].sort());
        expect(sockets.inUse.length).toBeLessThanOrEqual(1);
        // NX2: what is cut is gone at once.
        expect([...sockets.open].filter((each) => !sockets.cut.has(each)).length).toBeLessThanOrEqual(3);
        expect(sockets.inUse).toEqual(life.inUse === undefined ? [] : [life.inUse]);
        // NX3: there is always something that goes on: a socket in use, one being made, or the end.
        const goesOn = life.inUse !== undefined || life.attempt !== undefined || life.end !== undefined;
        expect(goesOn).toBe(true);
        if (life.isRefreshing) expect(life.attempt !== undefined || sockets.isPausing).toBe(true);
        if (isAsked) expect(life.end?.failure).toBeUndefined();
      }
      // Whatever was going on: when all of them go it is over.
      sockets.take({ type: 'close' });
      for (const socket of [...sockets.open]) gone(sockets, socket);
      expect(sockets.ends).toBe(1);
    }),
    { numRuns: 1_000 },
  );
});

interface Happened {
  readonly type: SocketEvent['type'];
  readonly which?: number;
  readonly reason?: string;
  readonly isSoon?: boolean;
}

function eventOf(sockets: Sockets, happened: Happened) {
  const { type, which = 0, reason = '', isSoon = false } = happened;
  const open = [...sockets.open];
  const { inUse, attempt } = sockets.life;
  // Mostly what is likely: otherwise hardly any connection would come to its second refresh.
  const likely =
    which % 4 === 0 ? undefined : type === 'hello' ? attempt : type === 'told' ? inUse : undefined;
  const socket = likely ?? open[(which >> 2) % Math.max(1, open.length)] ?? 0;
  if (type === 'due') {
    if (!sockets.isPausing) return undefined;
    sockets.isPausing = false;
    return { type } as const;
  }
  if (type === 'close') {
    if (sockets.life.end === undefined) sockets.isAsked = true;
    return { type } as const;
  }
  if (type === 'hello') {
    if (sockets.greeted.has(socket)) return undefined;
    sockets.greeted.add(socket);
    // A socket that was cut hears nothing more.
    return sockets.left.has(socket) ? undefined : ({ type, socket } as const);
  }
  if (type === 'told') return { type, socket, reason, isSoon } as const;
  sockets.open.delete(socket);
  return { type: 'gone', socket, failure } as const;
}

function gone(sockets: Sockets, socket: number): void {
  if (sockets.ends > 0) return;
  sockets.open.delete(socket);
  sockets.take({ type: 'gone', socket, failure });
}

/** Returns the life and the last commands after these events. */
const after = (...events: readonly SocketEvent[]) =>
  events.reduce(({ life }, event) => step(life, event), begin());
const hello = (socket: number): SocketEvent => ({ type: 'hello', socket });
const told = (socket: number, isSoon = false): SocketEvent => ({
  ...{ type: 'told', socket, isSoon },
  reason: 'refresh_requested',
});
const lost = (socket: number, reason = 'lost'): SocketEvent => ({
  ...{ type: 'gone', socket },
  failure: { kind: 'transient', reason },
});

test('a second greeting changes nothing; the next socket cuts the one that was left before (NX2)', () => {
  expect(after(hello(1), hello(1)).commands).toEqual([]);
  expect(after(hello(1), told(1), hello(2), told(2), hello(3)).commands).toEqual([
    { do: 'greet' },
    { do: 'cut', socket: 1 },
    { do: 'leave', socket: 2, isLast: false },
  ]);
});

test('failures are counted from the last greeting, and brief sockets in a row (NX5)', () => {
  const again = after(hello(1), told(1), lost(2), { type: 'due' }, hello(3), told(3), lost(4));
  expect(again.commands).toMatchObject([{ do: 'pause', count: 1 }]);
  const brief = [hello(1), told(1, true), hello(2), told(2), hello(3), told(3, true)];
  expect(after(...brief).commands).toEqual([{ do: 'open', socket: 4 }]);
  expect(after(...brief, hello(4), told(4, true)).commands).toMatchObject([{ do: 'pause', count: 1 }]);
});

test('the connection ends with the failure of the next socket, not with the end that was announced', () => {
  const { commands } = after(hello(1), told(1), lost(2, 'the next one failed'), lost(1));
  expect(commands).toMatchObject([{ do: 'end', failure: { reason: 'the next one failed' } }]);
});
