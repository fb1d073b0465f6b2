// One socket of the platform from its address to its end: it is asked for, opened, greeted, kept alive, and left.
//
// WK1  an envelope is acknowledged only when its intake has settled as durable, and only on the socket that it came on; but for one
//      that nothing here reads, since it is too large, and that would come for ever.
// WK2  address, opening and greeting have deadlines; a socket without a sign of life is given up (`silenceMs`). While nothing
//      is read on purpose no sign can come, and none is missed.
// WK3  one that is left stays open for a while, so that what the platform has already sent on it is answered there; it is closed
//      when nothing of it is under way, and cut where that takes too long.
// WK4  `onGone` is called once, whatever happens, and nothing is called after it.

import type { ConnectionFailure } from '../../../../machines/connection-failure.ts';
import { failureOf } from '../../connections/connector.ts';
import { type Envelope, frameOf } from './frame.ts';
import type { Wire, Wires } from './wire.ts';

export interface SocketTimes {
  /** From the request for an address to the platform's answer. */
  readonly addressMs: number;
  /** From there to the greeting. */
  readonly helloMs: number;
  readonly pingMs: number;
  readonly silenceMs: number;
  /** For so long one that is left still takes what comes; the platform mostly closes it before. */
  readonly lingerMs: number;
  /** For what is under way on one that is left; then it is cut. */
  readonly leaveMs: number;
}

/** The vendor's client gives up after 30 s as well. */
export const socketTimes: SocketTimes = {
  addressMs: 10_000,
  helloMs: 15_000,
  pingMs: 10_000,
  silenceMs: 30_000,
  lingerMs: 5_000,
  leaveMs: 10_000,
};

export interface SocketOptions {
  /** Asks the platform for an address, which can be used once. */
  address(signal: AbortSignal): Promise<string>;
  readonly wires: Wires;
  readonly times: SocketTimes;
  onHello(): void;
  onDisconnect(reason: string): void;
  /** `settled` is called when it is durable, or is known not to be. */
  onEnvelope(envelope: Envelope, bytes: number, settled: (isDurable: boolean) => void): void;
  /** What is dropped for its size. */
  onOversized(bytes: number): void;
  onGone(failure: ConnectionFailure): void;
}

const lost = (reason: string): ConnectionFailure => ({ kind: 'transient', reason });

export class PlatformSocket {
  readonly #options: SocketOptions;
  readonly #ending = new AbortController();
  #wire: Wire | undefined;
  #isGreeted = false;
  #isPaused = false;
  #isGone = false;
  #isLeft = false;
  #takesNew = true;
  #underWay = 0;
  /** In terms of performance.now. */
  #signAt = 0;
  #deadline: NodeJS.Timeout | undefined;
  #lingering: NodeJS.Timeout | undefined;
  #pinging: NodeJS.Timeout | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    const { address, times } = options;
    this.#within(times.addressMs, 'the platform gave no address of a socket');
    address(this.#ending.signal).then(
      (url) => this.#connect(url),
      (error: unknown) => this.#end(failureOf(error)),
    );
  }

  /** Takes effect once it is greeted: what comes before is the greeting. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!this.#isGreeted || this.#isGone) return;
    if (isPaused) this.#wire?.pause();
    else {
      this.#signAt = performance.now();
      this.#wire?.resume();
    }
  }

  /** Ends in good order. `isLast`: what comes from now on is not taken, and the platform sends it to somebody else. */
  leave(isLast: boolean): void {
    if (isLast) this.#takesNew = false;
    if (this.#isLeft && !isLast) return;
    const { lingerMs, leaveMs } = this.#options.times;
    if (!this.#isLeft) this.#within(leaveMs, 'what was under way on it took too long');
    this.#isLeft = true;
    clearTimeout(this.#lingering);
    this.#lingering = undefined;
    if (isLast) this.#closeIfIdle();
    else
      this.#lingering = setTimeout(() => {
        this.#lingering = undefined;
        this.#closeIfIdle();
      }, lingerMs).unref();
  }

  /** Ends at once. */
  cut(): void {
    this.#end(lost('the socket was cut off'));
  }

  #connect(url: string): void {
    if (this.#isGone) return;
    const { wires, times } = this.#options;
    this.#within(times.helloMs, 'the platform did not greet the socket');
    try {
      this.#wire = wires.connect(url, {
        onText: (text, bytes) => this.#onText(text, bytes),
        onOversized: (envelope, bytes) => this.#drop(envelope, bytes),
        onSign: () => this.#noteSign(),
        onClosed: (reason, retryAfterMs) => this.#end({ kind: 'transient', reason, retryAfterMs }),
      });
    } catch {
      // Its words may have the address in them, which is a credential.
      this.#end(lost('no socket could be made of the address that the platform gave'));
      return;
    }
    // It may have failed at once.
    if (this.#isGone) this.#wire.terminate();
  }

  #onText(text: string, bytes: number): void {
    if (this.#isGone) return;
    this.#noteSign();
    const frame = frameOf(text);
    if (frame?.kind === 'hello') this.#greeted();
    else if (frame?.kind === 'disconnect') this.#options.onDisconnect(frame.reason);
    else if (frame?.kind === 'envelope' && this.#takesNew) this.#take(frame.envelope, bytes);
  }

  #greeted(): void {
    if (this.#isGreeted) return;
    this.#isGreeted = true;
    clearTimeout(this.#deadline);
    const { pingMs } = this.#options.times;
    this.#pinging = setInterval(() => this.#ping(), pingMs).unref();
    this.#options.onHello();
    if (this.#isPaused) this.setPaused(true);
  }

  #take(envelope: Envelope, bytes: number): void {
    this.#underWay += 1;
    this.#options.onEnvelope(envelope, bytes, (isDurable) => {
      this.#underWay -= 1;
      if (this.#isGone) return;
      if (isDurable) this.#wire?.send(JSON.stringify({ envelope_id: envelope.id }));
      this.#closeIfIdle();
    });
  }

  #drop(envelope: string | undefined, bytes: number): void {
    if (this.#isGone) return;
    this.#noteSign();
    if (envelope === undefined || !this.#takesNew) return;
    this.#wire?.send(JSON.stringify({ envelope_id: envelope }));
    this.#options.onOversized(bytes);
  }

  #noteSign(): void {
    this.#signAt = performance.now();
  }

  #ping(): void {
    if (this.#isPaused) return;
    const { silenceMs } = this.#options.times;
    if (performance.now() - this.#signAt < silenceMs) this.#wire?.ping();
    else this.#end(lost(`the platform gave no sign of life for ${silenceMs / 1000} s`));
  }

  #closeIfIdle(): void {
    if (!this.#isLeft || this.#lingering !== undefined || this.#underWay > 0) return;
    // The other side's farewell has to be read.
    this.#wire?.resume();
    this.#wire?.close();
  }

  /** In place of the deadline before. */
  #within(ms: number, what: string): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#end(lost(`${what} within ${ms / 1000} s`)), ms).unref();
  }

  #end(failure: ConnectionFailure): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#ending.abort();
    clearTimeout(this.#deadline);
    clearTimeout(this.#lingering);
    clearInterval(this.#pinging);
    this.#wire?.terminate();
    this.#options.onGone(failure);
  }
}
