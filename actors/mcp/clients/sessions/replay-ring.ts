// The replay buffer of one session: what was sent on its event streams lately, so that a client that lost a stream can
// have the rest of it (Streamable HTTP, "Resumability and Redelivery"). It is bounded in bytes, oldest first out, and
// all of them together by replay-budget.ts.
//
// RR1  event ids are unique within the session and name their stream: `<stream>-<number>`.
// RR2  only events of the stream that was lost are given back, never another's.
// RR3  of a stream that has ended nothing is kept for longer than KEPT_MS: its client has come back by then, or never will.

import { Share } from '../../../base/bounds/budget.ts';
import { SHARED_FROM } from '../../../base/bounds/held-bytes.ts';
import type { Linked } from '../../../base/bounds/linked-list.ts';
import { isInPieces, type Message, sizeOf, whole } from '../../jsonrpc/span.ts';
import type { ReplayBudget } from './replay-budget.ts';

export interface StoredEvent {
  readonly number: number;
  readonly message: Message;
}

interface Kept {
  readonly stream: number;
  readonly number: number;
  /** What is small as text in Latin-1, a copy of its own; what is large as it is, since others may hold it too. */
  readonly message: Message | string;
}

export const REPLAY_BYTES = 1024 * 1024;
/** What an event takes beside its message. */
const EVENT_BYTES = 128;
/** Clients of the public SDKs come back within seconds, and give up within a minute. */
const KEPT_MS = 60_000;

export class ReplayRing implements Linked<ReplayRing> {
  previous: ReplayRing | undefined;
  next: ReplayRing | undefined;
  readonly #replays: ReplayBudget;
  readonly #limitBytes: number;
  readonly #share = new Share();
  #events: (Kept | undefined)[] = [];
  /** Where the oldest stands. */
  #first = 0;
  /** When which stream has ended. */
  readonly #ended = new Map<number, number>();
  #nextStream = 1;

  constructor(replays: ReplayBudget, limitBytes: number = REPLAY_BYTES) {
    this.#replays = replays;
    this.#limitBytes = limitBytes;
  }

  newStream(): number {
    return this.#nextStream++;
  }

  /** What it holds, by what that takes in memory. */
  get bytes(): number {
    return this.#share.held;
  }

  add(stream: number, number: number, message: Message): void {
    const size = EVENT_BYTES + sizeOf(message);
    if (size > this.#limitBytes) {
      // Whoever comes back for what was before it would miss it without a sign.
      this.clear();
      return;
    }
    while (this.#share.held + size > this.#limitBytes) this.dropOldest();
    const kept = size - EVENT_BYTES < SHARED_FROM ? whole(message).toString('latin1') : message;
    while (!this.#take(kept)) if (!this.#replays.makeRoom()) return;
    this.#replays.noteUse(this);
    this.#events.push({ stream, number, message: kept });
  }

  /** The kept events of one stream that came after a certain one. */
  after(stream: number, number: number): StoredEvent[] {
    const found: StoredEvent[] = [];
    for (const event of this.#events) {
      if (event === undefined || event.stream !== stream || event.number <= number) continue;
      const { message } = event;
      found.push({
        number: event.number,
        message: typeof message === 'string' ? Buffer.from(message, 'latin1') : message,
      });
    }
    return found;
  }

  /** The stream has ended: what is kept of it is kept for a while. */
  end(stream: number): void {
    if (this.#events.length > 0) this.#ended.set(stream, performance.now());
  }

  /** RR3 */
  sweep(now: number): void {
    for (const [stream, endedAt] of this.#ended) {
      if (now - endedAt < KEPT_MS) continue;
      this.#ended.delete(stream);
      this.#forget(stream);
    }
  }

  dropOldest(): void {
    const oldest = this.#events[this.#first];
    if (oldest === undefined) return;
    this.#events[this.#first] = undefined;
    this.#first += 1;
    this.#give(oldest.message);
    if (this.#first * 2 < this.#events.length) return;
    this.#events.splice(0, this.#first);
    this.#first = 0;
    if (this.#events.length === 0) this.#replays.noteEmpty(this);
  }

  clear(): void {
    for (const event of this.#events) if (event !== undefined) this.#give(event.message);
    this.#events = [];
    this.#first = 0;
    this.#ended.clear();
    this.#replays.noteEmpty(this);
  }

  #forget(stream: number): void {
    const left: Kept[] = [];
    for (const event of this.#events) {
      if (event === undefined) continue;
      if (event.stream === stream) this.#give(event.message);
      else left.push(event);
    }
    this.#events = left;
    this.#first = 0;
    if (left.length === 0) this.#replays.noteEmpty(this);
  }

  #take(message: Message | string): boolean {
    const { held } = this.#replays;
    if (typeof message === 'string') return held.take(message.length + EVENT_BYTES, this.#share);
    if (!held.take(EVENT_BYTES, this.#share)) return false;
    const pieces = isInPieces(message) ? message : [message];
    for (const [at, piece] of pieces.entries()) {
      if (held.hold(piece, this.#share)) continue;
      for (const taken of pieces.slice(0, at)) held.letGo(taken, this.#share);
      held.give(EVENT_BYTES, this.#share);
      return false;
    }
    return true;
  }

  #give(message: Message | string): void {
    const { held } = this.#replays;
    if (typeof message === 'string') held.give(message.length + EVENT_BYTES, this.#share);
    else {
      for (const piece of isInPieces(message) ? message : [message]) held.letGo(piece, this.#share);
      held.give(EVENT_BYTES, this.#share);
    }
  }
}

/** Reads an event id back; undefined when it is none of ours. */
export function parseEventId(id: string): { stream: number; number: number } | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(id);
  return match === null ? undefined : { stream: Number(match[1]), number: Number(match[2]) };
}

export function eventId(stream: number, number: number): string {
  return `${stream}-${number}`;
}
