// One socket to the platform: requests an address, opens the socket, waits for the greeting, keeps the socket
// alive and closes it.
//
// Envelopes are acknowledged on the same socket, only once they are durable. Oversized envelopes are dropped
// and acknowledged, because the platform would redeliver them forever. Address and greeting have deadlines.
// If the platform is silent for `silenceMs`, the socket is terminated, unless reading is paused. After
// `leave` the socket stays open for some time and handles the envelopes in transit. `onClosed` is the last
// callback, and is called once.

import type { ConnectionFailure } from '../../../../machines/connection-failure.ts';
import { failureOf } from '../../connections/connector.ts';
import { parseFrame, type SocketEnvelope } from './frame.ts';
import type { Wire, Wires } from './wire.ts';

export interface SocketTimes {
  /** Deadline for address requests. */
  readonly addressMs: number;
  /** Deadline of the greeting, from the address on. */
  readonly helloMs: number;
  readonly pingMs: number;
  readonly silenceMs: number;
  /**
   * Time after `leave` in which envelopes are still accepted. The platform usually closes the socket earlier.
   */
  readonly lingerMs: number;
  /** Deadline of envelopes in progress after `leave`; the socket is then terminated. */
  readonly leaveMs: number;
}

/** `silenceMs` equals the limit of the vendor's client. */
export const socketTimes: SocketTimes = {
  addressMs: 10_000,
  helloMs: 15_000,
  pingMs: 10_000,
  silenceMs: 30_000,
  lingerMs: 5_000,
  leaveMs: 10_000,
};

export interface SocketOptions {
  /** Requests an address from the platform. Each address can be used once. */
  address(signal: AbortSignal): Promise<string>;
  readonly wires: Wires;
  readonly times: SocketTimes;
  onHello(): void;
  onDisconnect(reason: string): void;
  /** `onSettled` receives true when the envelope is durable, and false when it failed. */
  onEnvelope(envelope: SocketEnvelope, bytes: number, onSettled: (isDurable: boolean) => void): void;
  /** Called when an oversized envelope was dropped. */
  onOversized(bytes: number): void;
  onClosed(failure: ConnectionFailure): void;
}

const transientFailure = (reason: string): ConnectionFailure => ({ kind: 'transient', reason });

export class PlatformSocket {
  readonly #options: SocketOptions;
  readonly #aborting = new AbortController();
  #wire: Wire | undefined;
  #isGreeted = false;
  #isPaused = false;
  #isClosed = false;
  #isLeaving = false;
  #acceptsNew = true;
  #inProgress = 0;
  /** Value of performance.now. */
  #lastActivityAt = 0;
  #deadline: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #pinging: NodeJS.Timeout | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    const { address, times } = options;
    this.#setDeadline(times.addressMs, 'no socket address from the platform');
    address(this.#aborting.signal).then(
      (url) => this.#connect(url),
      (error: unknown) => this.#end(failureOf(error)),
    );
  }

  /** Pauses or resumes reading, once the greeting has been read. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!this.#isGreeted || this.#isClosed) return;
    if (isPaused) this.#wire?.pause();
    else {
      this.#lastActivityAt = performance.now();
      this.#wire?.resume();
    }
  }

  /**
   * Closes the socket gracefully. `isLast` is true if no other socket replaces this socket. New envelopes are
   * then ignored, and the platform sends them to another client.
   */
  leave(isLast: boolean): void {
    if (isLast) this.#acceptsNew = false;
    if (this.#isLeaving && !isLast) return;
    const { lingerMs, leaveMs } = this.#options.times;
    if (!this.#isLeaving) this.#setDeadline(leaveMs, 'envelopes in progress did not finish');
    this.#isLeaving = true;
    clearTimeout(this.#lingering);
    this.#lingering = undefined;
    if (isLast) this.#closeIfIdle();
    else
      this.#lingering = setTimeout(() => {
        this.#lingering = undefined;
        this.#closeIfIdle();
      }, lingerMs).unref();
  }

  /** Terminates the socket immediately. */
  terminate(): void {
    this.#end(transientFailure('the socket was terminated'));
  }

  #connect(url: string): void {
    if (this.#isClosed) return;
    const { wires, times } = this.#options;
    this.#setDeadline(times.helloMs, 'no greeting from the platform');
    try {
      this.#wire = wires.connect(url, {
        onText: (text, bytes) => this.#onText(text, bytes),
        onOversized: (envelope, bytes) => this.#drop(envelope, bytes),
        onActivity: () => this.#noteActivity(),
        onClosed: (reason, retryAfterMs) => this.#end({ kind: 'transient', reason, retryAfterMs }),
      });
    } catch {
      // The error may contain the address, which is a credential.
      this.#end(transientFailure('could not open a socket at the address from the platform'));
      return;
    }
    // The connection can fail during `connect`.
    if (this.#isClosed) this.#wire.terminate();
  }

  #onText(text: string, bytes: number): void {
    if (this.#isClosed) return;
    this.#noteActivity();
    const frame = parseFrame(text);
    if (frame?.kind === 'hello') this.#handleGreeting();
    else if (frame?.kind === 'disconnect') this.#options.onDisconnect(frame.reason);
    else if (frame?.kind === 'envelope' && this.#acceptsNew) this.#accept(frame.envelope, bytes);
  }

  #handleGreeting(): void {
    if (this.#isGreeted) return;
    this.#isGreeted = true;
    clearTimeout(this.#deadline);
    const { pingMs } = this.#options.times;
    this.#pinging = setInterval(() => this.#ping(), pingMs).unref();
    this.#options.onHello();
    if (this.#isPaused) this.setPaused(true);
  }

  #accept(envelope: SocketEnvelope, bytes: number): void {
    this.#inProgress += 1;
    this.#options.onEnvelope(envelope, bytes, (isDurable) => {
      this.#inProgress -= 1;
      if (this.#isClosed) return;
      if (isDurable) this.#wire?.send(JSON.stringify({ envelope_id: envelope.id }));
      this.#closeIfIdle();
    });
  }

  #drop(envelope: string | undefined, bytes: number): void {
    if (this.#isClosed) return;
    this.#noteActivity();
    if (envelope === undefined || !this.#acceptsNew) return;
    this.#wire?.send(JSON.stringify({ envelope_id: envelope }));
    this.#options.onOversized(bytes);
  }

  #noteActivity(): void {
    this.#lastActivityAt = performance.now();
  }

  #ping(): void {
    if (this.#isPaused) return;
    const { silenceMs } = this.#options.times;
    if (performance.now() - this.#lastActivityAt < silenceMs) this.#wire?.ping();
    else this.#end(transientFailure(`no sign of life from the platform for ${silenceMs / 1000} s`));
  }

  #closeIfIdle(): void {
    if (!this.#isLeaving || this.#lingering !== undefined || this.#inProgress > 0) return;
    // The close frame of the platform must be read.
    this.#wire?.resume();
    this.#wire?.close();
  }

  /** Sets the deadline of the current phase, which replaces the previous one. */
  #setDeadline(ms: number, failure: string): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(
      () => this.#end(transientFailure(`${failure} within ${ms / 1000} s`)),
      ms,
    ).unref();
  }

  #end(failure: ConnectionFailure): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#aborting.abort();
    clearTimeout(this.#deadline);
    clearTimeout(this.#lingering);
    clearInterval(this.#pinging);
    this.#wire?.terminate();
    this.#options.onClosed(failure);
  }
}
