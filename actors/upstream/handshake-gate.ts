// Keeps the order of the handshake over HTTP, where each message travels on a request of its own: the first
// message without an answer after `arm` is `notifications/initialized`, and what is sent after it waits until the
// server has taken it. Servers that check the order would otherwise refuse a request that overtook it.
// The wait has a deadline; the queue is bounded by the caller, who counts its requests in flight (A8).

import type { CallId } from './link.ts';

const LONGEST_WAIT_MS = 5_000;

export interface Outgoing {
  readonly bytes: Buffer;
  readonly call: CallId | undefined;
  readonly traceparent: string | undefined;
}

export class HandshakeGate {
  readonly #forward: (message: Outgoing, onSettled: () => void) => void;
  #waiting: Outgoing[] = [];
  #whenOpen: (() => void) | undefined;
  #state: 'before' | 'armed' | 'shut' | 'open' = 'before';
  #timer: NodeJS.Timeout | undefined;

  /** `forward` sends a message and calls `onSettled` when the server has taken or refused it. */
  constructor(forward: (message: Outgoing, onSettled: () => void) => void) {
    this.#forward = forward;
  }

  get queuedBytes(): number {
    return this.#waiting.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** The answer to `initialize` has come: the next message without an answer closes the handshake. */
  arm(): void {
    if (this.#state === 'before') this.#state = 'armed';
  }

  send(message: Outgoing): void {
    if (this.#state === 'shut') {
      this.#waiting.push(message);
    } else if (this.#state === 'armed' && message.call === undefined) {
      this.#state = 'shut';
      this.#timer = setTimeout(() => this.#open(), LONGEST_WAIT_MS);
      this.#forward(message, () => this.#open());
    } else {
      this.#forward(message, () => {});
    }
  }

  /** Runs `task` now, or once the message that is being waited for has been taken. */
  after(task: () => void): void {
    if (this.#state === 'shut') this.#whenOpen = task;
    else task();
  }

  /** Drops a waiting request; false when it is not waiting here. */
  forget(call: CallId): boolean {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter((message) => message.call !== call);
    return this.#waiting.length < before;
  }

  /** Nothing goes through any more; gives the messages that did not. */
  close(): Outgoing[] {
    const left = this.#waiting;
    this.#waiting = [];
    this.#whenOpen = undefined;
    clearTimeout(this.#timer);
    return left;
  }

  #open(): void {
    if (this.#state !== 'shut') return;
    this.#state = 'open';
    clearTimeout(this.#timer);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.send(message);
    this.#whenOpen?.();
    this.#whenOpen = undefined;
  }
}
