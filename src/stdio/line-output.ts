// Stdout of this program: one message per line, and nothing else. Memory stays bounded when the client does not read:
//
// LO1  above HIGH_BYTES waiting, `onStuffed(true)` asks for no more input; once the client has read, `onStuffed(false)`.
// LO2  what comes from servers all the same may wait up to `maxBytes`; beyond that the client counts as lost.

import type { Writable } from 'node:stream';
import { LineWriter } from '../../actors/mcp/links/stdio/line-writer.ts';

const HIGH_BYTES = 4 * 1024 * 1024;

export interface LineOutputOptions {
  readonly output: Writable;
  readonly maxBytes: number;
  onStuffed(isStuffed: boolean): void;
  /** Nobody reads any more: the client is gone or, with an error, takes nothing while `maxBytes` wait for it. */
  onLost(error: Error | undefined): void;
}

export class LineOutput {
  /** Bytes accepted since the beginning. */
  accepted = 0;
  readonly #options: LineOutputOptions;
  readonly #writer: LineWriter;
  #isStuffed = false;
  #isLost = false;
  #whenEmpty: (() => void) | undefined;

  constructor(options: LineOutputOptions) {
    this.#options = options;
    this.#writer = new LineWriter(options.output, options.maxBytes);
    options.output.on('drain', () => this.#look());
    options.output.on('error', () => this.#lose(undefined));
  }

  /** Bytes that have left, counted as `accepted`. */
  get left(): number {
    return this.accepted - this.#writer.queuedBytes;
  }

  write(message: Buffer): void {
    if (this.#isLost) return;
    this.accepted += message.length + 1;
    if (!this.#writer.write(message, undefined)) {
      this.#lose(new Error(`the client does not read; ${this.#writer.queuedBytes} bytes wait for it`));
    } else this.#look();
  }

  /** Resolves when everything has left, when nobody reads any more, or after `withinMs`. */
  flush(withinMs: number): Promise<void> {
    this.#writer.flush();
    if (this.#isLost || this.#writer.queuedBytes === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#whenEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #look(): void {
    const { queuedBytes } = this.#writer;
    if (queuedBytes === 0) this.#whenEmpty?.();
    const isStuffed = this.#isStuffed ? queuedBytes > 0 : queuedBytes > HIGH_BYTES;
    if (isStuffed === this.#isStuffed) return;
    this.#isStuffed = isStuffed;
    this.#options.onStuffed(isStuffed);
  }

  #lose(error: Error | undefined): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#writer.close();
    this.#whenEmpty?.();
    this.#options.onLost(error);
  }
}
