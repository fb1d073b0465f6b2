// Writes messages, one per line, to a local server's stdin, or the gateway's stdout. Messages of one tick are
// written together. While the receiver does not read, messages are queued up to a limit (A8,
// ARCHITECTURE.md); queued messages certainly did not reach it.

import type { Writable } from 'node:stream';
import type { CallId } from '../link.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const NEWLINE = Buffer.from('\n');
/** Maximum size of joined writes. A larger message is written without copying. */
const SLICE_BYTES = 64 * 1024;

interface Waiting {
  readonly bytes: Buffer;
  readonly call: CallId | undefined;
}

export class LineWriter {
  readonly #output: Writable;
  readonly #maxQueuedBytes: number;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isBlocked = false;
  #isClosed = false;
  #scheduledFlush: NodeJS.Immediate | undefined;

  constructor(output: Writable, maxQueuedBytes: number) {
    this.#output = output;
    this.#maxQueuedBytes = maxQueuedBytes;
    output.on('drain', this.#onDrain);
  }

  /** Number of bytes that the receiver has not read yet. */
  get queuedBytes(): number {
    return this.#waitingBytes + this.#output.writableLength;
  }

  /** Queues a message. Returns false if the limit is reached. */
  write(bytes: Buffer, call: CallId | undefined): boolean {
    if (this.#isClosed || this.queuedBytes + bytes.length + 1 > this.#maxQueuedBytes) return false;
    this.#waiting.push({ bytes, call });
    this.#waitingBytes += bytes.length + 1;
    // Runs after the poll phase of the event loop, so messages received from many sockets are written
    // together.
    if (!this.#isBlocked) this.#scheduledFlush ??= setImmediate(this.#onScheduledFlush);
    return true;
  }

  /** Removes a message that is still queued. */
  forget(call: CallId): void {
    const at = this.#waiting.findIndex((each) => each.call === call);
    const [removed] = at === -1 ? [] : this.#waiting.splice(at, 1);
    if (removed !== undefined) this.#waitingBytes -= removed.bytes.length + 1;
  }

  /** Writes as much as the pipe accepts. */
  flush(): void {
    while (!this.#isBlocked && this.#waiting.length > 0) this.#isBlocked = !this.#writeSlice();
  }

  /** Stops writing and returns the calls that were never written. */
  close(): CallId[] {
    this.#isClosed = true;
    clearImmediate(this.#scheduledFlush);
    this.#output.off('drain', this.#onDrain);
    const calls = this.#waiting.flatMap(({ call }) => (call === undefined ? [] : [call]));
    this.#waiting = [];
    this.#waitingBytes = 0;
    return calls;
  }

  readonly #onScheduledFlush = (): void => {
    this.#scheduledFlush = undefined;
    this.flush();
  };

  readonly #onDrain = (): void => {
    this.#isBlocked = false;
    this.flush();
  };

  #writeSlice(): boolean {
    let count = 0;
    let size = 0;
    for (const { bytes } of this.#waiting) {
      if (count > 0 && size + bytes.length + 1 > SLICE_BYTES) break;
      count += 1;
      size += bytes.length + 1;
    }
    const slice = this.#waiting.splice(0, count);
    this.#waitingBytes -= size;
    if (size <= SLICE_BYTES) return this.#output.write(joinMessages(slice, size));
    // A slice above the limit contains a single message, so one line end is written after the loop.
    this.#output.cork();
    for (const { bytes } of slice) {
      replaceLineBreaks(bytes);
      this.#output.write(bytes);
    }
    const isAccepting = this.#output.write(NEWLINE);
    this.#output.uncork();
    return isAccepting;
  }
}

function joinMessages(messages: readonly Waiting[], size: number): Buffer {
  const all = Buffer.allocUnsafe(size);
  let at = 0;
  for (const { bytes } of messages) {
    at += bytes.copy(all, at);
    // The place of the line end, which is written below.
    all[at++] = SPACE;
  }
  replaceLineBreaks(all);
  // The message ends are written last, so they are not replaced.
  at = -1;
  for (const { bytes } of messages) {
    at += bytes.length + 1;
    all[at] = LF;
  }
  return all;
}

/**
 * Replaces line breaks in a message by spaces; in JSON they can only be white space. Otherwise a client could
 * append a second message, unchecked.
 */
function replaceLineBreaks(bytes: Buffer): void {
  if (!bytes.includes(LF) && !bytes.includes(CR)) return;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === LF || bytes[at] === CR) bytes[at] = SPACE;
}
