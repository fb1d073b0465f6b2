// Preserves the order of messages over HTTP, where each message is its own request and may overtake others.
// After `arm`, the first message that is no request is `notifications/initialized`; later messages wait until
// the server has accepted it, because some servers reject requests before it. Notifications and responses to
// server requests ("one-way" messages) are sent one after another, so progress cannot run backwards. No
// message waits longer than LONGEST_WAIT_MS. At most MAX_ONE_WAY one-way messages wait (A8, ARCHITECTURE.md).
// Further ones are dropped without an error, because no caller waits for a response.

import type { CallId } from '../link.ts';

const LONGEST_WAIT_MS = 5_000;
const MAX_ONE_WAY = 1_024;

export interface Outgoing {
  readonly bytes: Buffer;
  readonly call: CallId | undefined;
  readonly traceparent: string | undefined;
}

export class OrderGate {
  readonly #forward: (message: Outgoing, onSettled: () => void) => void;
  #waiting: Outgoing[] = [];
  /** Task that runs when the gate opens. */
  #whenOpen: (() => void) | undefined;
  /**
   * `before`: no response to `initialize` yet. `armed`: the next one-way message is
   * `notifications/initialized`. `shut`: it is being sent, and other messages wait. `open`: the server has
   * accepted it.
   */
  #state: 'before' | 'armed' | 'shut' | 'open' = 'before';
  #timer: NodeJS.Timeout | undefined;
  /** One-way messages that wait for the previous one. */
  #oneWayQueue: Outgoing[] = [];
  /** Sends the next one-way message; undefined if none is in progress. */
  #sendNextOneWay: (() => void) | undefined;
  #oneWayTimer: NodeJS.Timeout | undefined;

  /** `forward` sends a message and calls `onSettled` when the server has accepted or rejected it. */
  constructor(forward: (message: Outgoing, onSettled: () => void) => void) {
    this.#forward = forward;
  }

  get queuedBytes(): number {
    return [...this.#waiting, ...this.#oneWayQueue].reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /**
   * Call it after the response to `initialize`. The next one-way message then completes the handshake, and
   * the gate is shut until the server has accepted it.
   */
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
    } else if (this.#sendNextOneWay === undefined) {
      this.#sendOneWay(message);
    } else if (this.#oneWayQueue.length < MAX_ONE_WAY) {
      this.#oneWayQueue.push(message);
    }
  }

  /** Runs `task` when the gate is not shut: immediately or later. */
  after(task: () => void): void {
    if (this.#state === 'shut') this.#whenOpen = task;
    else task();
  }

  /** Removes a waiting request. Returns false if the request does not wait here. */
  forget(call: CallId): boolean {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter((message) => message.call !== call);
    return this.#waiting.length < before;
  }

  /** Stops all sending, when the link closes. Returns the unsent messages. */
  close(): Outgoing[] {
    const unsent = [...this.#waiting, ...this.#oneWayQueue];
    this.#waiting = [];
    this.#oneWayQueue = [];
    this.#whenOpen = undefined;
    clearTimeout(this.#timer);
    clearTimeout(this.#oneWayTimer);
    return unsent;
  }

  #sendOneWay(message: Outgoing): void {
    const sendNext = (): void => {
      // The deadline may have sent the next message already.
      if (this.#sendNextOneWay !== sendNext) return;
      clearTimeout(this.#oneWayTimer);
      this.#sendNextOneWay = undefined;
      const next = this.#oneWayQueue.shift();
      if (next !== undefined) this.#sendOneWay(next);
    };
    this.#sendNextOneWay = sendNext;
    this.#oneWayTimer = setTimeout(sendNext, LONGEST_WAIT_MS);
    this.#forward(message, sendNext);
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
