// Keeps what has an order over HTTP, where each message travels on a request of its own and may overtake another.
//
// OT1  the first message without an answer after `arm` is `notifications/initialized`; whatever is sent after it waits
//     until the server has taken it, because servers that check the order refuse a request that overtook it.
// OT2  messages without an answer (notifications, answers to the server's questions) go one after the other: progress
//     must not run backwards.
// OT3  each wait has a deadline, and no more than MAX_NOTES messages wait for their turn; one more is dropped, as
//     nobody can be told of it. Requests in flight are bounded by the caller (A8).

import type { CallId } from '../link.ts';

const LONGEST_WAIT_MS = 5_000;
const MAX_NOTES = 1_024;

export interface Outgoing {
  readonly bytes: Buffer;
  readonly call: CallId | undefined;
  readonly traceparent: string | undefined;
}

export class OrderGate {
  readonly #forward: (message: Outgoing, onSettled: () => void) => void;
  #waiting: Outgoing[] = [];
  #whenOpen: (() => void) | undefined;
  #state: 'before' | 'armed' | 'shut' | 'open' = 'before';
  #timer: NodeJS.Timeout | undefined;
  /** Messages without an answer that wait for the one on its way. */
  #notes: Outgoing[] = [];
  #passNote: (() => void) | undefined;
  #noteTimer: NodeJS.Timeout | undefined;

  /** `forward` sends a message and calls `onSettled` when the server has taken or refused it. */
  constructor(forward: (message: Outgoing, onSettled: () => void) => void) {
    this.#forward = forward;
  }

  get queuedBytes(): number {
    return [...this.#waiting, ...this.#notes].reduce((sum, { bytes }) => sum + bytes.length, 0);
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
    } else if (message.call !== undefined) {
      this.#forward(message, () => {});
    } else if (this.#passNote === undefined) {
      this.#sendNote(message);
    } else if (this.#notes.length < MAX_NOTES) {
      this.#notes.push(message);
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
    const left = [...this.#waiting, ...this.#notes];
    this.#waiting = [];
    this.#notes = [];
    this.#whenOpen = undefined;
    clearTimeout(this.#timer);
    clearTimeout(this.#noteTimer);
    return left;
  }

  #sendNote(message: Outgoing): void {
    const pass = (): void => {
      // The deadline may have passed it already.
      if (this.#passNote !== pass) return;
      clearTimeout(this.#noteTimer);
      this.#passNote = undefined;
      const next = this.#notes.shift();
      if (next !== undefined) this.#sendNote(next);
    };
    this.#passNote = pass;
    this.#noteTimer = setTimeout(pass, LONGEST_WAIT_MS);
    this.#forward(message, pass);
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
