// Writes messages to stdout, one per line. Memory is bounded even for a client that never reads: above
// HIGH_BYTES queued bytes, `onBackpressure(true)` pauses the input until the client has read all queued
// bytes. Meanwhile servers may still send; above `maxBytes` the client counts as lost.

import type { Writable } from 'node:stream';
import { LineWriter } from '../../actors/mcp/links/stdio/line-writer.ts';

const HIGH_BYTES = 4 * 1024 * 1024;

export interface LineOutputOptions {
  readonly output: Writable;
  readonly maxBytes: number;
  onBackpressure(isFull: boolean): void;
  /** Called without error after a disconnect, and with an error when more than `maxBytes` are queued. */
  onLost(error: Error | undefined): void;
}

export class LineOutput {
  /** Bytes passed to `write` since the start. */
  acceptedBytes = 0;
  readonly #options: LineOutputOptions;
  readonly #writer: LineWriter;
  #isFull = false;
  #isLost = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: LineOutputOptions) {
    this.#options = options;
    this.#writer = new LineWriter(options.output, options.maxBytes);
    options.output.on('drain', () => this.#checkLevel());
    options.output.on('error', () => this.#markLost(undefined));
  }

  /** Bytes written to stdout since the start. */
  get sentBytes(): number {
    return this.acceptedBytes - this.#writer.queuedBytes;
  }

  write(message: Buffer): void {
    if (this.#isLost) return;
    this.acceptedBytes += message.length + 1;
    if (!this.#writer.write(message, undefined)) {
      this.#markLost(new Error(`the client does not read; ${this.#writer.queuedBytes} bytes are queued`));
    } else this.#checkLevel();
  }

  /** Resolves when everything is sent, when the client is lost, or after `withinMs`. */
  flush(withinMs: number): Promise<void> {
    this.#writer.flush();
    if (this.#isLost || this.#writer.queuedBytes === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #checkLevel(): void {
    const { queuedBytes } = this.#writer;
    if (queuedBytes === 0) this.#onEmpty?.();
    const isFull = this.#isFull ? queuedBytes > 0 : queuedBytes > HIGH_BYTES;
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#options.onBackpressure(isFull);
  }

  #markLost(error: Error | undefined): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#writer.close();
    this.#onEmpty?.();
    this.#options.onLost(error);
  }
}
