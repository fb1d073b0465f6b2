// The bytes of a streamed answer that have not been written yet. Small pieces are gathered into blocks, so that a hundred
// thousand of them become a few writes; large ones are kept as they are, since other streams may share them.
//
// BL1  everything in it is taken from the budget of all readers (readers.ts), until the client has it.
// BL2  taking from it costs the same however much there is.

import { SHARED_FROM } from '../../../actors/base/bounds/held-bytes.ts';
import type { Reader, Readers } from './readers.ts';

const MIN_BLOCK_BYTES = 1_024;
const MAX_BLOCK_BYTES = 65_536;

interface Item {
  readonly bytes: Uint8Array;
  /** Where what was written ends; beyond it a block has room. */
  end: number;
  /** Others may have it too. */
  readonly isShared: boolean;
}

export class Backlog {
  readonly #readers: Readers;
  readonly #reader: Reader;
  #items: Item[] = [];
  /** How much of the first the client has. */
  #at = 0;
  #bytes = 0;
  /** Of the server beneath, which may copy a piece of what is shared. */
  #handBytes = 0;

  constructor(readers: Readers, reader: Reader) {
    this.#readers = readers;
    this.#reader = reader;
  }

  /** Bytes that the client does not have yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds bytes, which must not be changed afterwards; false when there is no room for them. */
  push(bytes: Uint8Array): boolean {
    if (!(bytes.length < SHARED_FROM ? this.#pushSmall(bytes) : this.#pushLarge(bytes))) return false;
    this.#bytes += bytes.length;
    return true;
  }

  /** The next bytes to hand over, `most` at most; undefined when there are none. They stay until `drop`. */
  peek(most: number): Uint8Array | undefined {
    const item = this.#items[0];
    return item?.bytes.subarray(this.#at, Math.min(item.end, this.#at + most));
  }

  /** The client has the next `count` bytes; no more than `peek` gave. */
  drop(count: number): void {
    const item = this.#items[0];
    if (item === undefined) return;
    this.#at += count;
    this.#bytes -= count;
    if (this.#at < item.end) return;
    this.#at = 0;
    this.#items.shift();
    this.#giveBack(item);
    if (this.#items.length === 0) this.#releaseHand();
  }

  clear(): void {
    for (const item of this.#items) this.#giveBack(item);
    this.#items = [];
    this.#at = 0;
    this.#bytes = 0;
    this.#releaseHand();
  }

  #pushSmall(bytes: Uint8Array): boolean {
    const last = this.#items.at(-1);
    // Most are the only one: no copy is made of what leaves at once.
    if (last === undefined) return this.#add(bytes, bytes.length);
    if (!last.isShared && last.end + bytes.length <= last.bytes.length) {
      last.bytes.set(bytes, last.end);
      last.end += bytes.length;
      return true;
    }
    const size = Math.max(bytes.length, Math.min(MAX_BLOCK_BYTES, Math.max(MIN_BLOCK_BYTES, this.#bytes)));
    // Not of a pool, which would keep more than is counted.
    const block = Buffer.allocUnsafeSlow(size);
    block.set(bytes);
    return this.#add(block, bytes.length);
  }

  #add(bytes: Uint8Array, end: number): boolean {
    if (!this.#readers.take(bytes.length, this.#reader)) return false;
    this.#items.push({ bytes, end, isShared: false });
    return true;
  }

  #pushLarge(bytes: Uint8Array): boolean {
    if (this.#handBytes === 0) {
      if (!this.#readers.take(MAX_BLOCK_BYTES, this.#reader)) return false;
      this.#handBytes = MAX_BLOCK_BYTES;
    }
    if (!this.#readers.hold(bytes, this.#reader)) return false;
    this.#items.push({ bytes, end: bytes.length, isShared: true });
    return true;
  }

  #giveBack({ bytes, isShared }: Item): void {
    if (isShared) this.#readers.letGo(bytes, this.#reader);
    else this.#readers.give(bytes.length, this.#reader);
  }

  #releaseHand(): void {
    if (this.#handBytes > 0) this.#readers.give(this.#handBytes, this.#reader);
    this.#handBytes = 0;
  }
}
