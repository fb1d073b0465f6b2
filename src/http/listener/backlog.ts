// Queue for the unsent bytes in a response. Small pieces are copied into blocks, so that many pieces need few
// writes. Large pieces are stored unchanged, because other streams may share the same bytes. All bytes count
// in the limit for slow readers (readers.ts) until the client has received them.

import { SHARED_FROM } from '../../../actors/base/bounds/buffered-bytes.ts';
import type { Reader, Readers } from './readers.ts';

const MIN_BLOCK_BYTES = 1_024;
const MAX_BLOCK_BYTES = 65_536;

interface QueuedBytes {
  readonly bytes: Uint8Array;
  /** End of the used bytes; a block can have free bytes. */
  end: number;
  /** True if other streams may use the same bytes. */
  readonly isShared: boolean;
}

export class Backlog {
  readonly #readers: Readers;
  readonly #reader: Reader;
  #items: QueuedBytes[] = [];
  /** Number of sent bytes in the first item. */
  #sentBytes = 0;
  #bytes = 0;
  /** Memory reserved for the HTTP server, which sometimes copies a part of shared bytes. */
  #copyBytes = 0;

  constructor(readers: Readers, reader: Reader) {
    this.#readers = readers;
    this.#reader = reader;
  }

  /** Number of unsent bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds bytes, which must not change afterwards. Returns false if the limit is reached. */
  push(bytes: Uint8Array): boolean {
    if (!(bytes.length < SHARED_FROM ? this.#pushSmall(bytes) : this.#pushLarge(bytes))) return false;
    this.#bytes += bytes.length;
    return true;
  }

  /** Returns the next bytes (at most `maxBytes`) without removing them; undefined if the queue is empty. */
  peek(maxBytes: number): Uint8Array | undefined {
    const item = this.#items[0];
    return item?.bytes.subarray(this.#sentBytes, Math.min(item.end, this.#sentBytes + maxBytes));
  }

  /** Removes the next `count` bytes, which must be part of the last result of `peek`. */
  drop(count: number): void {
    const item = this.#items[0];
    if (item === undefined) return;
    this.#sentBytes += count;
    this.#bytes -= count;
    if (this.#sentBytes < item.end) return;
    this.#sentBytes = 0;
    this.#items.shift();
    this.#release(item);
    if (this.#items.length === 0) this.#releaseCopy();
  }

  clear(): void {
    for (const item of this.#items) this.#release(item);
    this.#items = [];
    this.#sentBytes = 0;
    this.#bytes = 0;
    this.#releaseCopy();
  }

  #pushSmall(bytes: Uint8Array): boolean {
    const last = this.#items.at(-1);
    // Usually sent immediately, so it is not copied.
    if (last === undefined) return this.#add(bytes, bytes.length);
    if (!last.isShared && last.end + bytes.length <= last.bytes.length) {
      last.bytes.set(bytes, last.end);
      last.end += bytes.length;
      return true;
    }
    const size = Math.max(bytes.length, Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, this.#bytes)));
    // Not from Node's buffer pool, which would keep more memory than is counted.
    const block = Buffer.allocUnsafeSlow(size);
    block.set(bytes);
    return this.#add(block, bytes.length);
  }

  #add(bytes: Uint8Array, end: number): boolean {
    if (!this.#readers.acquire(bytes.length, this.#reader)) return false;
    this.#items.push({ bytes, end, isShared: false });
    return true;
  }

  #pushLarge(bytes: Uint8Array): boolean {
    if (this.#copyBytes === 0) {
      if (!this.#readers.acquire(MAX_BLOCK_BYTES, this.#reader)) return false;
      this.#copyBytes = MAX_BLOCK_BYTES;
    }
    if (!this.#readers.acquireShared(bytes, this.#reader)) return false;
    this.#items.push({ bytes, end: bytes.length, isShared: true });
    return true;
  }

  #release({ bytes, isShared }: QueuedBytes): void {
    if (isShared) this.#readers.releaseShared(bytes, this.#reader);
    else this.#readers.release(bytes.length, this.#reader);
  }

  #releaseCopy(): void {
    if (this.#copyBytes > 0) this.#readers.release(this.#copyBytes, this.#reader);
    this.#copyBytes = 0;
  }
}
