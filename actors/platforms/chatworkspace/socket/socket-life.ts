// The sockets of one connection over its life, as a pure decision: what has happened goes in, what is to be done comes out.
// The platform ends each socket after some hours and says so before; a client that closes it first and opens another then has
// none for as long as that takes. Here the next one is greeted before the one in use is left:
//
//   opening ── hello → greeted ── disconnect → refreshing (two sockets) ── hello → greeted …; any of them → ending → over
//
// NX1  the socket in use is left only when another has been greeted, or when the connection ends.
// NX2  at most one socket is being made, and at most three exist: that one, the one in use, and the last one that was left.
// NX3  while a socket is in use no failure to make another ends the connection; it is tried again after a pause, for ever.
// NX4  every socket that was opened is accounted for until it is gone: the connection is over when none is left, and after its
//      end has begun none is opened.
// NX5  a platform that ends one socket soon after the other is asked for the next at growing pauses, but for the first time.

import type { ConnectionFailure } from '../../../../machines/connection-failure.ts';

export interface SocketLife {
  /** The number of the one that was opened last. */
  readonly last: number;
  readonly inUse: number | undefined;
  /** Being made: opened, and not greeted yet. */
  readonly attempt: number | undefined;
  /** Neither of both, and not gone yet. */
  readonly left: readonly number[];
  /** The platform has announced the end of the one in use. */
  readonly isRefreshing: boolean;
  /** Of attempts in a row while one is in use. */
  readonly failures: number;
  readonly failure: ConnectionFailure | undefined;
  /** Sockets in a row whose end was announced soon after their greeting. */
  readonly brief: number;
  /** The connection is to end, for that reason; without one where it was asked to. */
  readonly end: { readonly failure: ConnectionFailure | undefined } | undefined;
}

export type SocketEvent =
  | { readonly type: 'hello'; readonly socket: number }
  /** The platform has said `disconnect`; `isSoon`: not long after it has greeted. */
  | { readonly type: 'told'; readonly socket: number; readonly reason: string; readonly isSoon: boolean }
  /** It is over, whoever ended it, or could not be made. Once for each that was opened. */
  | { readonly type: 'gone'; readonly socket: number; readonly failure: ConnectionFailure }
  /** A pause is over. */
  | { readonly type: 'due' }
  | { readonly type: 'close' };

type Told = Extract<SocketEvent, { type: 'told' }>;

export type SocketCommand =
  | { readonly do: 'open'; readonly socket: number }
  /** The connection is there. Said at each greeting. */
  | { readonly do: 'greet' }
  /** It is to end in good order: what has come on it is still acknowledged; nothing new is taken with the last one. */
  | { readonly do: 'leave'; readonly socket: number; readonly isLast: boolean }
  /** At once. */
  | { readonly do: 'cut'; readonly socket: number }
  /** Until `due`; the failure is the `count`th in a row. */
  | { readonly do: 'pause'; readonly failure: ConnectionFailure; readonly count: number }
  | { readonly do: 'end'; readonly failure: ConnectionFailure | undefined };

export interface Step {
  readonly life: SocketLife;
  readonly commands: readonly SocketCommand[];
}

const unborn: SocketLife = {
  last: 0,
  inUse: undefined,
  attempt: undefined,
  left: [],
  isRefreshing: false,
  failures: 0,
  failure: undefined,
  brief: 0,
  end: undefined,
};

export function begin(): Step {
  return opened(unborn);
}

export function step(life: SocketLife, event: SocketEvent): Step {
  switch (event.type) {
    case 'hello':
      return greeted(life, event.socket);
    case 'told':
      return told(life, event);
    case 'gone':
      return gone(life, event.socket, event.failure);
    case 'due': {
      const isFree = life.end === undefined && life.attempt === undefined;
      return isFree && life.isRefreshing ? opened(life) : unchanged(life);
    }
    case 'close':
      return life.end === undefined ? ended(life, undefined) : unchanged(life);
  }
}

function unchanged(life: SocketLife): Step {
  return { life, commands: [] };
}

function opened(life: SocketLife): Step {
  const socket = life.last + 1;
  return { life: { ...life, last: socket, attempt: socket }, commands: [{ do: 'open', socket }] };
}

function greeted(life: SocketLife, socket: number): Step {
  if (socket !== life.attempt) return unchanged(life);
  const { inUse, left } = life;
  const commands: SocketCommand[] = [{ do: 'greet' }];
  for (const earlier of left) commands.push({ do: 'cut', socket: earlier });
  if (inUse !== undefined) commands.push({ do: 'leave', socket: inUse, isLast: false });
  return {
    life: {
      ...life,
      inUse: socket,
      attempt: undefined,
      left: inUse === undefined ? left : [...left, inUse],
      isRefreshing: false,
      failures: 0,
      failure: undefined,
    },
    commands,
  };
}

function told(life: SocketLife, { socket, reason, isSoon }: Told): Step {
  const failure = failureOfReason(reason);
  if (socket === life.attempt) {
    const after = attemptFailed({ ...life, attempt: undefined, left: [...life.left, socket] }, failure);
    return { ...after, commands: [...after.commands, { do: 'cut', socket }] };
  }
  if (socket !== life.inUse) return unchanged(life);
  if (failure.kind !== 'transient') return ended(life, failure);
  if (life.isRefreshing) return unchanged(life);
  const brief = isSoon ? life.brief + 1 : 0;
  const refreshing = { ...life, isRefreshing: true, brief };
  if (brief <= 1) return opened(refreshing);
  return { life: refreshing, commands: [{ do: 'pause', failure, count: brief - 1 }] };
}

function gone(life: SocketLife, socket: number, failure: ConnectionFailure): Step {
  if (socket === life.attempt) return attemptFailed({ ...life, attempt: undefined }, failure);
  if (socket === life.inUse) {
    const without = { ...life, inUse: undefined };
    // What the next one fails with says more than that this one has ended, as was announced.
    return life.attempt === undefined ? ended(without, life.failure ?? failure) : unchanged(without);
  }
  const left = life.left.filter((each) => each !== socket);
  return overIfNoneIsLeft({ ...life, left }, []);
}

/** Of the one that was being made; it is in `left`, or gone. */
function attemptFailed(life: SocketLife, failure: ConnectionFailure): Step {
  if (life.inUse === undefined) return ended(life, failure);
  const count = life.failures + 1;
  return { life: { ...life, failures: count, failure }, commands: [{ do: 'pause', failure, count }] };
}

function ended(life: SocketLife, failure: ConnectionFailure | undefined): Step {
  const { inUse, attempt } = life;
  const left = [...life.left, ...(inUse === undefined ? [] : [inUse])];
  const commands: SocketCommand[] = left.map((socket) => ({ do: 'leave', socket, isLast: true }));
  if (attempt !== undefined) {
    left.push(attempt);
    commands.push({ do: 'cut', socket: attempt });
  }
  const end = { ...life, inUse: undefined, attempt: undefined, left, isRefreshing: false, end: { failure } };
  return overIfNoneIsLeft(end, commands);
}

function overIfNoneIsLeft(life: SocketLife, commands: readonly SocketCommand[]): Step {
  if (life.end === undefined || life.left.length > 0) return { life, commands };
  return { life, commands: [...commands, { do: 'end', failure: life.end.failure }] };
}

/** What the platform means by a `disconnect`. What it does as a matter of course passes. */
function failureOfReason(reason: string): ConnectionFailure {
  const text = `the platform ends the connection: ${reason}`;
  if (reason === 'link_disabled')
    return { kind: 'refused', reason: `${text}; socket mode is off for the app` };
  if (reason === 'too_many_websockets')
    return { kind: 'conflict', reason: `${text}; others hold as many as one app may have` };
  return { kind: 'transient', reason: text };
}
