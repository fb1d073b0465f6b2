// Bounds what waits for slow readers: clients that read slower than is written to them. The bound is over all together;
// when it is reached those that have read nothing for a while are cut off, and where there are none no more is taken.
//
// RD1 (A8)  what waits is never more than `total`; a message that waits for many counts once (actors/held-bytes.ts).
// RD2 (A6)  whoever reads is never cut off for what others leave lying.

import { Share } from '../../../actors/budget.ts';
import { HeldBytes } from '../../../actors/held-bytes.ts';
import { type Linked, LinkedList } from '../../../actors/linked-list.ts';

/** The bytes that may wait for all clients together, or four of the largest messages. */
const MIN_WAITING_BYTES = 128 * 1024 * 1024;

/** A reader that has taken nothing for so long may be cut off. */
const STALLED_MS = 1_000;

/** One answer that waits for its client. */
export class Reader implements Linked<Reader> {
  previous: Reader | undefined;
  next: Reader | undefined;
  readonly share = new Share();
  /** performance.now() of when the client last took something, or the wait began. */
  movedAt = 0;
  /** Ends the answer, and has everything given back that was taken for it. */
  readonly cut: () => void;

  constructor(cut: () => void) {
    this.cut = cut;
  }
}

export class Readers {
  readonly #held: HeldBytes;
  /** The slow readers, the one that took something longest ago first. */
  readonly #waiting = new LinkedList<Reader>();

  constructor(total: number) {
    this.#held = new HeldBytes(total);
  }

  /** For messages of up to `maxMessageBytes`. */
  static for(maxMessageBytes: number): Readers {
    return new Readers(Math.max(MIN_WAITING_BYTES, 4 * maxMessageBytes));
  }

  /** Bytes that wait for all of them. */
  get waitingBytes(): number {
    return this.#held.taken;
  }

  /** Takes room for what a reader has for itself; false when there is none. */
  take(bytes: number, reader: Reader): boolean {
    while (!this.#held.take(bytes, reader.share)) if (!this.#makeRoom(reader)) return false;
    return true;
  }

  give(bytes: number, reader: Reader): void {
    this.#held.give(bytes, reader.share);
  }

  /** Takes room for what others may wait for too; false when there is none. */
  hold(bytes: Uint8Array, reader: Reader): boolean {
    while (!this.#held.hold(bytes, reader.share)) if (!this.#makeRoom(reader)) return false;
    return true;
  }

  letGo(bytes: Uint8Array, reader: Reader): void {
    this.#held.letGo(bytes, reader.share);
  }

  /** The client has to be waited for, or has taken something and is still behind. */
  noteBehind(reader: Reader): void {
    this.#waiting.delete(reader);
    reader.movedAt = performance.now();
    this.#waiting.add(reader);
  }

  /** Removes a reader for which nothing waits any more. */
  noteCaughtUp(reader: Reader): void {
    this.#waiting.delete(reader);
  }

  /** Cuts off who has stalled for longest; false when nobody has, or it is the one that wants room. */
  #makeRoom(reader: Reader): boolean {
    const slowest = this.#waiting.first;
    if (slowest === undefined || slowest === reader) return false;
    if (performance.now() - slowest.movedAt < STALLED_MS) return false;
    this.#waiting.delete(slowest);
    slowest.cut();
    return true;
  }
}
