// A session's replay buffer: recent events of its streams, for a client that lost a stream (Streamable HTTP,
// "Resumability and Redelivery"). A client receives only events of the stream that it lost. The buffer drops
// its oldest events first, and shares a limit with other sessions (replay-budget.ts). A closed stream's
// events are dropped after RETAIN_MS. event-id.ts creates and parses the event ids.

import { Share } from '../../../base/bounds/budget.ts';
import { SHARED_FROM } from '../../../base/bounds/buffered-bytes.ts';
import type { ListMember } from '../../../base/bounds/linked-list.ts';
import { isInPieces, type Message, sizeOf, toBuffer } from '../../jsonrpc/span.ts';
import type { ReplayBudget } from './replay-budget.ts';

export interface ReplayEvent {
  readonly number: number;
  readonly message: Message;
}

interface RetainedEvent {
  readonly stream: number;
  readonly number: number;
  /**
   * Small messages are copied to a string in Latin-1: one character per byte. Large messages are shared with
   * other receivers.
   */
  readonly message: Message | string;
}

export interface ReplayBufferOptions {
  /** @default REPLAY_BYTES */
  readonly limitBytes?: number;
  /** Number of the first stream. @default 1 */
  readonly firstStream?: number;
}

export const REPLAY_BYTES = 1024 * 1024;
/** Memory per event without the message, in bytes. */
const EVENT_BYTES = 128;
/**
 * Retention of events of closed streams. Clients with the public SDKs reconnect within seconds and give up
 * within a minute.
 */
const RETAIN_MS = 60_000;

export class ReplayBuffer implements ListMember<ReplayBuffer> {
  /** Neighbours in the list of buffers (ReplayBudget). */
  previous: ReplayBuffer | undefined;
  next: ReplayBuffer | undefined;
  readonly #budget: ReplayBudget;
  readonly #limitBytes: number;
  readonly #share = new Share();
  /** Events, oldest first. Dropped events are undefined until the array is shortened. */
  #events: (RetainedEvent | undefined)[] = [];
  /** Index of the oldest event in `#events`. */
  #first = 0;
  /** Time at which each closed stream was closed. */
  readonly #closedAt = new Map<number, number>();
  #nextStream: number;

  constructor(
    budget: ReplayBudget,
    { limitBytes = REPLAY_BYTES, firstStream = 1 }: ReplayBufferOptions = {},
  ) {
    this.#budget = budget;
    this.#limitBytes = limitBytes;
    this.#nextStream = firstStream;
  }

  newStream(): number {
    return this.#nextStream++;
  }

  /** Memory in use, in bytes. */
  get bytes(): number {
    return this.#share.used;
  }

  add(stream: number, number: number, message: Message): void {
    const size = EVENT_BYTES + sizeOf(message);
    if (size > this.#limitBytes) {
      // The event cannot be stored. Earlier events are dropped too, because their replay would silently skip
      // this event.
      this.clear();
      return;
    }
    while (this.#share.used + size > this.#limitBytes) this.dropOldest();
    const storedMessage = size - EVENT_BYTES < SHARED_FROM ? toBuffer(message).toString('latin1') : message;
    // Clears buffers, possibly this one, until the budget has capacity. If all buffers are empty and the
    // budget is still exhausted, the event is not stored.
    while (!this.#reserve(storedMessage)) if (!this.#budget.evictStalest()) return;
    this.#budget.noteUse(this);
    this.#events.push({ stream, number, message: storedMessage });
  }

  /** Returns a stream's stored events with larger numbers. */
  after(stream: number, number: number): ReplayEvent[] {
    const events: ReplayEvent[] = [];
    for (const event of this.#events) {
      if (event === undefined || event.stream !== stream || event.number <= number) continue;
      const { message } = event;
      events.push({
        number: event.number,
        message: typeof message === 'string' ? Buffer.from(message, 'latin1') : message,
      });
    }
    return events;
  }

  /** Records that a stream closed; the events are retained for a while. */
  end(stream: number): void {
    if (this.#events.length > 0) this.#closedAt.set(stream, performance.now());
  }

  /** Drops events of streams that closed more than RETAIN_MS ago. */
  sweep(now: number): void {
    for (const [stream, closedAt] of this.#closedAt) {
      if (now - closedAt < RETAIN_MS) continue;
      this.#closedAt.delete(stream);
      this.#dropStream(stream);
    }
  }

  dropOldest(): void {
    const oldest = this.#events[this.#first];
    if (oldest === undefined) return;
    this.#events[this.#first] = undefined;
    this.#first += 1;
    this.#release(oldest.message);
    // Dropped entries are removed from the array when they are half of it, so a drop is cheap on average.
    if (this.#first * 2 < this.#events.length) return;
    this.#events.splice(0, this.#first);
    this.#first = 0;
    if (this.#events.length === 0) this.#budget.noteEmpty(this);
  }

  clear(): void {
    for (const event of this.#events) if (event !== undefined) this.#release(event.message);
    this.#events = [];
    this.#first = 0;
    this.#closedAt.clear();
    this.#budget.noteEmpty(this);
  }

  #dropStream(stream: number): void {
    const remainingEvents: RetainedEvent[] = [];
    for (const event of this.#events) {
      if (event === undefined) continue;
      if (event.stream === stream) this.#release(event.message);
      else remainingEvents.push(event);
    }
    this.#events = remainingEvents;
    this.#first = 0;
    if (remainingEvents.length === 0) this.#budget.noteEmpty(this);
  }

  /** Reserves memory. A large message has one or several pieces, each shared with other receivers. */
  #reserve(message: Message | string): boolean {
    const { heldBytes } = this.#budget;
    if (typeof message === 'string') return heldBytes.acquire(message.length + EVENT_BYTES, this.#share);
    if (!heldBytes.acquire(EVENT_BYTES, this.#share)) return false;
    const pieces = isInPieces(message) ? message : [message];
    for (const [at, piece] of pieces.entries()) {
      if (heldBytes.acquireShared(piece, this.#share)) continue;
      for (const heldPiece of pieces.slice(0, at)) heldBytes.releaseShared(heldPiece, this.#share);
      heldBytes.release(EVENT_BYTES, this.#share);
      return false;
    }
    return true;
  }

  #release(message: Message | string): void {
    const { heldBytes } = this.#budget;
    if (typeof message === 'string') heldBytes.release(message.length + EVENT_BYTES, this.#share);
    else {
      for (const piece of isInPieces(message) ? message : [message])
        heldBytes.releaseShared(piece, this.#share);
      heldBytes.release(EVENT_BYTES, this.#share);
    }
  }
}
