// State machine of a connection's sockets: a pure function from state (`SocketLife`) and event to the next
// state and commands. The platform announces the close of each socket after some hours. A client that closed
// it first and then opened the next one would be disconnected in between. Here the next socket is greeted
// before the current socket is left:
//
//   opening ── hello → greeted ── disconnect → refreshing (two sockets) ── hello → greeted …
//   any of them → closing → closed
//
// Up to three sockets exist: opening, in use, and leaving. While a socket is in use, a failed attempt to open
// the next one does not close the connection; it is repeated later. The connection is closed when every
// opened socket is closed; no socket opens after `close`. If the platform closes sockets soon after the
// greeting, the pauses between them grow.

import type { ConnectionFailure } from '../../../../machines/connection-failure.ts';

export interface SocketLife {
  /** Number of the socket that was opened last. */
  readonly last: number;
  readonly inUse: number | undefined;
  /** Socket that is opening and has no greeting yet. */
  readonly attempt: number | undefined;
  /** Other sockets that are not closed yet. */
  readonly leaving: readonly number[];
  /** True if the platform announced the close of the socket in use. */
  readonly isRefreshing: boolean;
  /** Failed attempts in a row while a socket is in use. */
  readonly failures: number;
  readonly failure: ConnectionFailure | undefined;
  /** Number of sockets in a row whose close was announced soon after the greeting. */
  readonly briefSockets: number;
  /** Set when the connection is closing. `failure` is undefined if the close was requested. */
  readonly end: { readonly failure: ConnectionFailure | undefined } | undefined;
}

export type SocketEvent =
  | { readonly type: 'hello'; readonly socket: number }
  /** The platform sent `disconnect`. `isSoon` is true soon after the greeting. */
  | {
      readonly type: 'disconnect';
      readonly socket: number;
      readonly reason: string;
      readonly isSoon: boolean;
    }
  /** The socket was closed, or could not be opened. Sent once per opened socket. */
  | { readonly type: 'closed'; readonly socket: number; readonly failure: ConnectionFailure }
  /** The requested pause has passed. */
  | { readonly type: 'due' }
  | { readonly type: 'close' };

type DisconnectEvent = Extract<SocketEvent, { type: 'disconnect' }>;

export type SocketCommand =
  | { readonly do: 'open'; readonly socket: number }
  /** The connection is established. Sent at each greeting. */
  | { readonly do: 'greet' }
  /** Close gracefully and acknowledge received envelopes. The last socket accepts no new ones. */
  | { readonly do: 'leave'; readonly socket: number; readonly isLast: boolean }
  /** Terminate the socket immediately. */
  | { readonly do: 'cut'; readonly socket: number }
  /** Send `due` after a pause. The failure is the `count`th in a row. */
  | { readonly do: 'pause'; readonly failure: ConnectionFailure; readonly count: number }
  | { readonly do: 'end'; readonly failure: ConnectionFailure | undefined };

export interface SocketStep {
  readonly life: SocketLife;
  readonly commands: readonly SocketCommand[];
}

const initial: SocketLife = {
  last: 0,
  inUse: undefined,
  attempt: undefined,
  leaving: [],
  isRefreshing: false,
  failures: 0,
  failure: undefined,
  briefSockets: 0,
  end: undefined,
};

export function begin(): SocketStep {
  return openNext(initial);
}

export function step(life: SocketLife, event: SocketEvent): SocketStep {
  switch (event.type) {
    case 'hello':
      return handleHello(life, event.socket);
    case 'disconnect':
      return handleDisconnect(life, event);
    case 'closed':
      return handleClosed(life, event.socket, event.failure);
    case 'due': {
      const isFree = life.end === undefined && life.attempt === undefined;
      return isFree && life.isRefreshing ? openNext(life) : noChange(life);
    }
    case 'close':
      return life.end === undefined ? beginEnd(life, undefined) : noChange(life);
  }
}

function noChange(life: SocketLife): SocketStep {
  return { life, commands: [] };
}

function openNext(life: SocketLife): SocketStep {
  const socket = life.last + 1;
  return { life: { ...life, last: socket, attempt: socket }, commands: [{ do: 'open', socket }] };
}

function handleHello(life: SocketLife, socket: number): SocketStep {
  if (socket !== life.attempt) return noChange(life);
  const { inUse, leaving } = life;
  const commands: SocketCommand[] = [{ do: 'greet' }];
  for (const earlier of leaving) commands.push({ do: 'cut', socket: earlier });
  if (inUse !== undefined) commands.push({ do: 'leave', socket: inUse, isLast: false });
  return {
    life: {
      ...life,
      inUse: socket,
      attempt: undefined,
      leaving: inUse === undefined ? leaving : [...leaving, inUse],
      isRefreshing: false,
      failures: 0,
      failure: undefined,
    },
    commands,
  };
}

function handleDisconnect(life: SocketLife, { socket, reason, isSoon }: DisconnectEvent): SocketStep {
  const failure = failureOfReason(reason);
  if (socket === life.attempt) {
    const after = failAttempt({ ...life, attempt: undefined, leaving: [...life.leaving, socket] }, failure);
    return { ...after, commands: [...after.commands, { do: 'cut', socket }] };
  }
  if (socket !== life.inUse) return noChange(life);
  if (failure.kind !== 'transient') return beginEnd(life, failure);
  if (life.isRefreshing) return noChange(life);
  const briefSockets = isSoon ? life.briefSockets + 1 : 0;
  const refreshing = { ...life, isRefreshing: true, briefSockets };
  if (briefSockets <= 1) return openNext(refreshing);
  return { life: refreshing, commands: [{ do: 'pause', failure, count: briefSockets - 1 }] };
}

function handleClosed(life: SocketLife, socket: number, failure: ConnectionFailure): SocketStep {
  if (socket === life.attempt) return failAttempt({ ...life, attempt: undefined }, failure);
  if (socket === life.inUse) {
    const withoutSocket = { ...life, inUse: undefined };
    // The failure of the next socket is more specific than this announced close.
    return life.attempt === undefined
      ? beginEnd(withoutSocket, life.failure ?? failure)
      : noChange(withoutSocket);
  }
  const leaving = life.leaving.filter((each) => each !== socket);
  return endIfNoSocket({ ...life, leaving }, []);
}

/** Handles a failed attempt to open a socket. The socket is already in `leaving`, or closed. */
function failAttempt(life: SocketLife, failure: ConnectionFailure): SocketStep {
  if (life.inUse === undefined) return beginEnd(life, failure);
  const count = life.failures + 1;
  return { life: { ...life, failures: count, failure }, commands: [{ do: 'pause', failure, count }] };
}

function beginEnd(life: SocketLife, failure: ConnectionFailure | undefined): SocketStep {
  const { inUse, attempt } = life;
  const leaving = [...life.leaving, ...(inUse === undefined ? [] : [inUse])];
  const commands: SocketCommand[] = leaving.map((socket) => ({ do: 'leave', socket, isLast: true }));
  if (attempt !== undefined) {
    leaving.push(attempt);
    commands.push({ do: 'cut', socket: attempt });
  }
  const end = {
    ...life,
    inUse: undefined,
    attempt: undefined,
    leaving,
    isRefreshing: false,
    end: { failure },
  };
  return endIfNoSocket(end, commands);
}

function endIfNoSocket(life: SocketLife, commands: readonly SocketCommand[]): SocketStep {
  if (life.end === undefined || life.leaving.length > 0) return { life, commands };
  return { life, commands: [...commands, { do: 'end', failure: life.end.failure }] };
}

/** Maps a `disconnect` reason to a failure. Routine reasons are transient. */
function failureOfReason(reason: string): ConnectionFailure {
  const text = `the platform ends the connection: ${reason}`;
  if (reason === 'link_disabled')
    return { kind: 'refused', reason: `${text}; socket mode is disabled for the app` };
  if (reason === 'too_many_websockets')
    return { kind: 'conflict', reason: `${text}; other clients use all connections of the app` };
  return { kind: 'transient', reason: text };
}
