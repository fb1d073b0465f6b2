// One browser, or another tool, that watches: a stream of server-sent events.
//
// VW1  what a slow viewer does not take is dropped, never kept: beyond MAX_BUFFERED it gets nothing, and once it has caught
//     up it gets everything anew, with the count of what it has missed.

import type { HttpStream } from '../../http/listener/seam.ts';

/** Enough for the tree of some thousand actors. */
const MAX_BUFFERED = 2 * 1024 * 1024;

export class Viewer {
  readonly #stream: HttpStream;
  readonly #whole: (missed: number) => string;
  /** Messages it was not sent. */
  #missed = 0;
  #isBehind = false;

  /** `whole` gives the messages that say how everything is; see `sendWhole`. */
  constructor(stream: HttpStream, whole: (missed: number) => string) {
    this.#stream = stream;
    this.#whole = whole;
  }

  /** Sends a message made by `eventText`, if there is room. */
  send(message: string): void {
    if (this.#stream.bufferedBytes > MAX_BUFFERED) this.#isBehind = true;
    if (!this.#isBehind) {
      this.#stream.write(message);
      return;
    }
    this.#missed += 1;
    if (this.#stream.bufferedBytes > 0) return;
    this.#isBehind = false;
    // The message is in it.
    this.#stream.write(this.#whole(this.#missed));
  }

  /** Sends everything, as at the beginning; for a viewer that is behind that is done anyway. */
  sendWhole(): void {
    if (!this.#isBehind && this.#stream.bufferedBytes <= MAX_BUFFERED)
      this.#stream.write(this.#whole(this.#missed));
  }

  /** A comment, so that proxies keep the connection. */
  heartbeat(): void {
    if (!this.#isBehind) this.#stream.write(': \n\n');
  }

  end(): void {
    this.#stream.end();
  }
}

/** A message as it goes over the stream; made once for all who watch. */
export function eventText(event: 'tree' | 'frame' | 'numbers', data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
