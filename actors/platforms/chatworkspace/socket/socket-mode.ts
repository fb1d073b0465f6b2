// A connection to the platform by sockets. Runs the state machine (state-machine.ts) with real sockets, and
// passes their envelopes to the intake.
//
// Events of the state machine are processed one at a time, including events that a command causes
// synchronously. After `close` or the abort signal, every socket closes and no socket opens.

import { connectionPause } from '../../../../machines/connection-failure.ts';
import { ConnectionError, type OpenConnection } from '../../connections/connector.ts';
import { EnvelopeIntake, type IntakeOptions } from './envelope-intake.ts';
import { PlatformSocket, type SocketOptions, socketTimes } from './platform-socket.ts';
import { begin, type SocketCommand, type SocketEvent, type SocketLife, step } from './state-machine.ts';

export interface SocketModeOptions
  extends Pick<SocketOptions, 'address' | 'wires'>,
    Pick<IntakeOptions, 'accept' | 'log' | 'app'> {
  /** @default socketTimes */
  readonly times?: SocketOptions['times'];
}

/**
 * A `disconnect` within this time after the greeting is early (`isSoon`). The platform normally keeps a
 * socket for hours.
 */
const SOON_MS = 10_000;

export class SocketMode implements OpenConnection {
  /** Settles when all sockets are closed. Rejects with the failure that closed the connection. */
  readonly closed: Promise<void>;
  /** Resolves at the first greeting. Rejects if the connection is closed earlier, even on request. */
  readonly greeted: Promise<void>;
  readonly #options: SocketModeOptions;
  readonly #intake: EnvelopeIntake;
  readonly #sockets = new Map<number, PlatformSocket>();
  readonly #events: SocketEvent[] = [];
  #life: SocketLife;
  #isStepping = false;
  /** Value of performance.now at the last greeting. */
  #greetedAt = 0;
  #pause: NodeJS.Timeout | undefined;
  #greet = (): void => {};
  #end: (error: Error | undefined) => void = () => {};

  constructor(options: SocketModeOptions, signal: AbortSignal) {
    this.#options = options;
    const { accept, log, app } = options;
    const onFull = (isFull: boolean): void => {
      for (const socket of this.#sockets.values()) socket.setPaused(isFull);
    };
    this.#intake = new EnvelopeIntake({ accept, log, app, onFull });
    this.closed = new Promise((resolve, reject) => {
      this.#end = (error) => (error === undefined ? resolve() : reject(error));
    });
    const closedEarly = this.closed.then(() => {
      throw new ConnectionError('the connection was closed before the greeting', {
        kind: 'transient',
      });
    });
    this.greeted = Promise.race([new Promise<void>((resolve) => (this.#greet = resolve)), closedEarly]);
    // The callers handle the rejections; this avoids unhandled ones.
    for (const promise of [this.closed, closedEarly, this.greeted]) promise.catch(() => {});
    const { life, commands } = begin();
    this.#life = life;
    for (const command of commands) this.#do(command);
    signal.addEventListener('abort', () => this.#terminate(), { once: true });
    if (signal.aborted) this.#terminate();
  }

  async close(graceMs: number): Promise<void> {
    this.#handle({ type: 'close' });
    const late = setTimeout(() => this.#terminate(), graceMs).unref();
    // The caller requested the close, so a failure does not matter.
    await this.closed.catch(() => {});
    clearTimeout(late);
  }

  #terminate(): void {
    this.#handle({ type: 'close' });
    for (const socket of [...this.#sockets.values()]) socket.terminate();
  }

  #handle(event: SocketEvent): void {
    this.#events.push(event);
    if (this.#isStepping) return;
    this.#isStepping = true;
    for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
      const { life, commands } = step(this.#life, next);
      this.#life = life;
      for (const command of commands) this.#do(command);
    }
    this.#isStepping = false;
  }

  #do(command: SocketCommand): void {
    switch (command.do) {
      case 'open':
        this.#open(command.socket);
        break;
      case 'greet':
        this.#greet();
        break;
      case 'leave':
        this.#sockets.get(command.socket)?.leave(command.isLast);
        break;
      case 'cut':
        this.#sockets.get(command.socket)?.terminate();
        break;
      case 'pause':
        this.#scheduleNext(command);
        break;
      case 'end': {
        clearTimeout(this.#pause);
        const { failure } = command;
        this.#end(failure && new ConnectionError(failure.reason, failure));
      }
    }
  }

  #open(socket: number): void {
    const { address, wires, times = socketTimes } = this.#options;
    const platformSocket = new PlatformSocket({
      address,
      wires,
      times,
      onHello: () => {
        this.#greetedAt = performance.now();
        this.#handle({ type: 'hello', socket });
      },
      onDisconnect: (reason) => {
        const isSoon = performance.now() - this.#greetedAt < SOON_MS;
        this.#handle({ type: 'disconnect', socket, reason, isSoon });
      },
      onEnvelope: (envelope, bytes, onSettled) => this.#intake.add(envelope, bytes, onSettled),
      onOversized: (bytes) => {
        const { log, app } = this.#options;
        log.error({ app, bytes }, 'dropped an event beyond the socket size limit');
      },
      onClosed: (failure) => {
        this.#sockets.delete(socket);
        this.#handle({ type: 'closed', socket, failure });
      },
    });
    this.#sockets.set(socket, platformSocket);
    platformSocket.setPaused(this.#intake.isFull);
  }

  /** Logs the failure and schedules the next socket. The current socket stays in use. */
  #scheduleNext({ failure, count }: Extract<SocketCommand, { do: 'pause' }>): void {
    const inMs = connectionPause(failure, count, Math.random());
    const { log, app } = this.#options;
    log.warn(
      { app, reason: failure.reason, in_ms: inMs },
      'opening the next socket after a pause; the current one stays in use',
    );
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#handle({ type: 'due' }), inMs).unref();
  }
}
