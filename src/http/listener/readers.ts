// Bounds what waits for slow readers: clients that read slower than is written to them. The bound is over all together;
// when it is reached those that have read nothing for a while are cut off, and where there are none no more is taken.
//
// RD1 (A8)  what waits is never more than `total`; a message that waits for many counts once (actors/base/bounds/held-bytes.ts).
// RD2 (A6)  whoever reads is never cut off for what others leave lying: who has been seen reading for a second is cut off after
//           a second in which it reads nothing, and who has not after a quarter of one, longer than a way there and back.
// RD3 (A6)  who comes finds room where all that is in the way has been left lying for so long.

import { Share } from '../../../actors/base/bounds/budget.ts';
import { HeldBytes } from '../../../actors/base/bounds/held-bytes.ts';
import { type Linked, LinkedList } from '../../../actors/base/bounds/linked-list.ts';

/** The bytes that may wait for all clients together, or four of the largest messages. */
const MIN_WAITING_BYTES = 128 * 1024 * 1024;

/** A reader that has taken nothing for so long may be cut off. */
const STALLED_MS = 1_000;

/** The same for one that may never have read: what the buffers of the system take at once looks like reading. */
const UNSEEN_MS = 250;

/** One answer that waits for its client. */
export class Reader implements Linked<Reader> {
  previous: Reader | undefined;
  next: Reader | undefined;
  readonly share = new Share();
  isBehind = false;
  /** performance.now() of when the wait began. */
  behindSince = 0;
  /** performance.now() of when the client last took something, or the wait began. */
  movedAt = 0;
  /** The client has been seen reading: it took something long after its wait had begun, or all of it. */
  isSeenReading = false;
  /** Ends the answer, and has everything given back that was taken for it. */
  readonly cut: () => void;

  constructor(cut: () => void) {
    this.cut = cut;
  }
}

export class Readers {
  readonly #held: HeldBytes;
  /** The slow readers that were seen reading, the one that took something longest ago first. */
  readonly #seen = new LinkedList<Reader>();
  /** The other slow readers, in the same order. */
  readonly #unseen = new LinkedList<Reader>();

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
    const now = performance.now();
    if (reader.isBehind) this.#listOf(reader).delete(reader);
    else reader.behindSince = now;
    reader.isBehind = true;
    reader.movedAt = now;
    if (now - reader.behindSince >= STALLED_MS) reader.isSeenReading = true;
    this.#listOf(reader).add(reader);
  }

  /** Removes a reader for which nothing waits any more. */
  noteCaughtUp(reader: Reader): void {
    if (!reader.isBehind) return;
    this.#listOf(reader).delete(reader);
    reader.isBehind = false;
    reader.isSeenReading = true;
  }

  #listOf({ isSeenReading }: Reader): LinkedList<Reader> {
    return isSeenReading ? this.#seen : this.#unseen;
  }

  /** Cuts off one that has stalled; false when nobody has, or only the one that wants room. */
  #makeRoom(reader: Reader): boolean {
    return this.#cutFirst(this.#unseen, UNSEEN_MS, reader) || this.#cutFirst(this.#seen, STALLED_MS, reader);
  }

  #cutFirst(list: LinkedList<Reader>, stalledMs: number, reader: Reader): boolean {
    const { first } = list;
    if (first === undefined || first === reader) return false;
    if (performance.now() - first.movedAt < stalledMs) return false;
    this.noteCaughtUp(first);
    first.cut();
    return true;
  }
}
