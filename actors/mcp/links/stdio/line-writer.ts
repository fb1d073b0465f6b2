// Stdin of a local server, or stdout of this program: one message per line. The messages of one turn of the event loop go out in one write;
// while the server does not read, messages wait here, up to a bound (A8), so that it is known which of them
// certainly never reached it.

import type { Writable } from 'node:stream';
import type { CallId } from '../link.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const NEWLINE = Buffer.from('\n');
/** So much is copied into one write; a larger message is passed through as it is. */
const SLICE_BYTES = 64 * 1024;

interface Waiting {
  readonly bytes: Buffer;
  readonly call: CallId | undefined;
}

export class LineWriter {
  readonly #stdin: Writable;
  readonly #maxQueuedBytes: number;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isBlocked = false;
  #isClosed = false;
  #turn: NodeJS.Immediate | undefined;

  constructor(stdin: Writable, maxQueuedBytes: number) {
    this.#stdin = stdin;
    this.#maxQueuedBytes = maxQueuedBytes;
    stdin.on('drain', this.#onDrain);
  }

  /** Bytes not yet taken by the server's end of the pipe. */
  get queuedBytes(): number {
    return this.#waitingBytes + this.#stdin.writableLength;
  }

  /** Accepts one message, or says false because the bound is reached. */
  write(bytes: Buffer, call: CallId | undefined): boolean {
    if (this.#isClosed || this.queuedBytes + bytes.length + 1 > this.#maxQueuedBytes) return false;
    this.#waiting.push({ bytes, call });
    this.#waitingBytes += bytes.length + 1;
    // After the poll phase, so that what many sockets brought in it leaves together.
    if (!this.#isBlocked) this.#turn ??= setImmediate(this.#onTurn);
    return true;
  }

  /** Takes a message back if it is still here. */
  forget(call: CallId): void {
    const at = this.#waiting.findIndex((each) => each.call === call);
    const [gone] = at === -1 ? [] : this.#waiting.splice(at, 1);
    if (gone !== undefined) this.#waitingBytes -= gone.bytes.length + 1;
  }

  /** Writes what the pipe takes now. */
  flush(): void {
    while (!this.#isBlocked && this.#waiting.length > 0) this.#isBlocked = !this.#writeSlice();
  }

  /** Ends the writing; gives the calls that have never left. */
  close(): CallId[] {
    this.#isClosed = true;
    clearImmediate(this.#turn);
    this.#stdin.off('drain', this.#onDrain);
    const calls = this.#waiting.flatMap(({ call }) => (call === undefined ? [] : [call]));
    this.#waiting = [];
    this.#waitingBytes = 0;
    return calls;
  }

  readonly #onTurn = (): void => {
    this.#turn = undefined;
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
    if (size <= SLICE_BYTES) return this.#stdin.write(joined(slice, size));
    this.#stdin.cork();
    for (const { bytes } of slice) {
      onOneLine(bytes);
      this.#stdin.write(bytes);
    }
    const hasRoom = this.#stdin.write(NEWLINE);
    this.#stdin.uncork();
    return hasRoom;
  }
}

function joined(messages: readonly Waiting[], size: number): Buffer {
  const all = Buffer.allocUnsafe(size);
  let at = 0;
  for (const { bytes } of messages) {
    at += bytes.copy(all, at);
    all[at++] = SPACE;
  }
  onOneLine(all);
  at = -1;
  for (const { bytes } of messages) {
    at += bytes.length + 1;
    all[at] = LF;
  }
  return all;
}

/**
 * Line breaks in JSON can only be white space between its parts. One that got through would let a client put a
 * second message, past every check, behind its first.
 */
function onOneLine(bytes: Buffer): void {
  if (!bytes.includes(LF) && !bytes.includes(CR)) return;
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === LF || bytes[at] === CR) bytes[at] = SPACE;
}
