// Limits the memory for slow readers: clients that read slower than the gateway writes. All readers share the
// limit. When it is reached, a reader that has stalled (makes no progress) is cut off: its connection is
// closed. If no reader has stalled, new bytes are refused.
//
// - Queued bytes never exceed the limit (A8, ARCHITECTURE.md). A message that is queued for many readers
//   counts once (actors/base/bounds/buffered-bytes.ts).
// - A reader that makes progress is not cut off because of stalled readers (A6). A confirmed reader, which
//   was seen reading for a second, is cut off after STALLED_MS without progress; an unconfirmed reader after
//   UNCONFIRMED_MS, which is longer than a network round trip.
// - A new reader gets memory if all others have stalled (A6).

import { Share } from '../../../actors/base/bounds/budget.ts';
import { BufferedBytes } from '../../../actors/base/bounds/buffered-bytes.ts';
import { LinkedList, type ListMember } from '../../../actors/base/bounds/linked-list.ts';

/** Minimum limit for all clients. The limit is larger if four messages of maximum size need more. */
const MIN_WAITING_BYTES = 128 * 1024 * 1024;

/** Time without progress after which a confirmed reader may be disconnected. */
const STALLED_MS = 1_000;

/** Same for unconfirmed readers: the first progress may be only the socket buffer. */
const UNCONFIRMED_MS = 250;

/** A response whose client reads slowly. */
export class Reader implements ListMember<Reader> {
  previous: Reader | undefined;
  next: Reader | undefined;
  readonly share = new Share();
  isBehind = false;
  /** `performance.now()` when the client fell behind. */
  behindSince = 0;
  /** `performance.now()` of the last progress, or when the client fell behind. */
  movedAt = 0;
  /**
   * True if the client has certainly read: it has read everything, or made progress a second after it fell
   * behind.
   */
  isConfirmed = false;
  /** Aborts the response, which releases its memory. */
  readonly cut: () => void;

  constructor(cut: () => void) {
    this.cut = cut;
  }
}

export class Readers {
  readonly #held: BufferedBytes;
  /** Confirmed readers that are behind, in the order of their last progress. */
  readonly #active = new LinkedList<Reader>();
  /** Unconfirmed readers that are behind, in the same order. */
  readonly #unconfirmed = new LinkedList<Reader>();

  constructor(total: number) {
    this.#held = new BufferedBytes(total);
  }

  /** Returns a limit for messages of up to `maxMessageBytes`. */
  static for(maxMessageBytes: number): Readers {
    return new Readers(Math.max(MIN_WAITING_BYTES, 4 * maxMessageBytes));
  }

  /** Number of queued bytes. */
  get waitingBytes(): number {
    return this.#held.used;
  }

  /** Reserves memory for bytes of one reader. Returns false if the limit is reached. */
  acquire(bytes: number, reader: Reader): boolean {
    while (!this.#held.acquire(bytes, reader.share)) if (!this.#freeCapacity(reader)) return false;
    return true;
  }

  release(bytes: number, reader: Reader): void {
    this.#held.release(bytes, reader.share);
  }

  /** Reserves memory for bytes that several readers may share. Returns false if the limit is reached. */
  acquireShared(bytes: Uint8Array, reader: Reader): boolean {
    while (!this.#held.acquireShared(bytes, reader.share)) if (!this.#freeCapacity(reader)) return false;
    return true;
  }

  releaseShared(bytes: Uint8Array, reader: Reader): void {
    this.#held.releaseShared(bytes, reader.share);
  }

  /** Called when a client falls behind, and when it has made progress but is still behind. */
  noteBehind(reader: Reader): void {
    const now = performance.now();
    if (reader.isBehind) this.#listOf(reader).delete(reader);
    else reader.behindSince = now;
    reader.isBehind = true;
    reader.movedAt = now;
    if (now - reader.behindSince >= STALLED_MS) reader.isConfirmed = true;
    this.#listOf(reader).add(reader);
  }

  /** Called when a client has read all bytes. */
  noteCaughtUp(reader: Reader): void {
    if (!reader.isBehind) return;
    this.#listOf(reader).delete(reader);
    reader.isBehind = false;
    reader.isConfirmed = true;
  }

  #listOf({ isConfirmed }: Reader): LinkedList<Reader> {
    return isConfirmed ? this.#active : this.#unconfirmed;
  }

  /** Disconnects the reader that has been stalled longest. Returns false if no other reader has stalled. */
  #freeCapacity(reader: Reader): boolean {
    return (
      this.#cutFirst(this.#unconfirmed, UNCONFIRMED_MS, reader) ||
      this.#cutFirst(this.#active, STALLED_MS, reader)
    );
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
