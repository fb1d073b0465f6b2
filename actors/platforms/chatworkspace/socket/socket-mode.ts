// A connection by sockets: does what `socket-life.ts` decides, with real sockets, and hands over what comes on any of them.
//
// WM1  events are decided one after the other, also those that a command brings about at once.
// WM2  after `close` and after the signal no socket is left, and none is opened.

import { connectionPause } from '../../../../machines/connection-failure.ts';
import { ConnectionError, type OpenConnection } from '../../connections/connector.ts';
import { EnvelopeIntake, type IntakeOptions } from './envelope-intake.ts';
import { PlatformSocket, type SocketOptions, socketTimes } from './platform-socket.ts';
import { begin, type SocketCommand, type SocketEvent, type SocketLife, step } from './socket-life.ts';

export interface SocketModeOptions
  extends Pick<SocketOptions, 'address' | 'wires'>,
    Pick<IntakeOptions, 'take' | 'log' | 'app'> {
  /** @default socketTimes */
  readonly times?: SocketOptions['times'];
}

/** The platform keeps a socket for hours. */
const SOON_MS = 10_000;

export class SocketMode implements OpenConnection {
  /** Settles when no socket is left; rejects with what ended it. */
  readonly closed: Promise<void>;
  /** Resolves when the platform has greeted; rejects as `closed`, also where that was asked for. */
  readonly greeted: Promise<void>;
  readonly #options: SocketModeOptions;
  readonly #intake: EnvelopeIntake;
  readonly #sockets = new Map<number, PlatformSocket>();
  readonly #events: SocketEvent[] = [];
  #life: SocketLife;
  #isStepping = false;
  /** The last of them, in terms of performance.now. */
  #greetedAt = 0;
  #pause: NodeJS.Timeout | undefined;
  #greet = (): void => {};
  #end: (error: Error | undefined) => void = () => {};

  constructor(options: SocketModeOptions, signal: AbortSignal) {
    this.#options = options;
    const { take, log, app } = options;
    const onFull = (isFull: boolean): void => {
      for (const socket of this.#sockets.values()) socket.setPaused(isFull);
    };
    this.#intake = new EnvelopeIntake({ take, log, app, onFull });
    this.closed = new Promise((resolve, reject) => {
      this.#end = (error) => (error === undefined ? resolve() : reject(error));
    });
    const ended = this.closed.then(() => {
      throw new ConnectionError('the connection was closed before the platform greeted', {
        kind: 'transient',
      });
    });
    this.greeted = Promise.race([new Promise<void>((resolve) => (this.#greet = resolve)), ended]);
    // They are looked at where they are waited for.
    for (const promise of [this.closed, ended, this.greeted]) promise.catch(() => {});
    const { life, commands } = begin();
    this.#life = life;
    for (const command of commands) this.#do(command);
    signal.addEventListener('abort', () => this.#cut(), { once: true });
    if (signal.aborted) this.#cut();
  }

  async close(graceMs: number): Promise<void> {
    this.#on({ type: 'close' });
    const late = setTimeout(() => this.#cut(), graceMs).unref();
    // It was asked for, whatever it ended with.
    await this.closed.catch(() => {});
    clearTimeout(late);
  }

  #cut(): void {
    this.#on({ type: 'close' });
    for (const socket of [...this.#sockets.values()]) socket.cut();
  }

  #on(event: SocketEvent): void {
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
        this.#sockets.get(command.socket)?.cut();
        break;
      case 'pause':
        this.#rest(command);
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
    const made = new PlatformSocket({
      address,
      wires,
      times,
      onHello: () => {
        this.#greetedAt = performance.now();
        this.#on({ type: 'hello', socket });
      },
      onDisconnect: (reason) => {
        const isSoon = performance.now() - this.#greetedAt < SOON_MS;
        this.#on({ type: 'told', socket, reason, isSoon });
      },
      onEnvelope: (envelope, bytes, settled) => this.#intake.add(envelope, bytes, settled),
      onOversized: (bytes) => {
        const { log, app } = this.#options;
        log.error({ app, bytes }, 'an event is larger than what is read from a socket, and is dropped');
      },
      onGone: (failure) => {
        this.#sockets.delete(socket);
        this.#on({ type: 'gone', socket, failure });
      },
    });
    this.#sockets.set(socket, made);
    made.setPaused(this.#intake.isFull);
  }

  /** The one in use goes on meanwhile. */
  #rest({ failure, count }: Extract<SocketCommand, { do: 'pause' }>): void {
    const inMs = connectionPause(failure, count, Math.random());
    const { log, app } = this.#options;
    log.warn(
      { app, reason: failure.reason, in_ms: inMs },
      'another socket is opened after a pause; the one before is used until its end',
    );
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => this.#on({ type: 'due' }), inMs).unref();
  }
}
