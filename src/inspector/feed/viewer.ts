// One viewer of the feed: a stream of server-sent events.
//
// VW1  Messages for a slow viewer are dropped, never queued. With more than MAX_BUFFERED unread bytes a
//      viewer receives nothing. Once it has read everything, it receives the complete state and the number of
//      missed messages.

import type { HttpStream } from '../../http/listener/seam.ts';

/** Maximum unread bytes: enough for a tree with several thousand actors. */
const MAX_BUFFERED = 2 * 1024 * 1024;

export class Viewer {
  readonly #stream: HttpStream;
  readonly #completeState: (missed: number) => string;
  /** Number of messages that were not sent. */
  #missed = 0;
  /** True from the first dropped message until the viewer has read everything. */
  #isBehind = false;

  /** `completeState` returns the messages with the complete state. */
  constructor(stream: HttpStream, completeState: (missed: number) => string) {
    this.#stream = stream;
    this.#completeState = completeState;
  }

  /** Sends a message from `eventText`, unless the viewer is too slow. */
  send(message: string): void {
    if (this.#stream.bufferedBytes > MAX_BUFFERED) this.#isBehind = true;
    if (!this.#isBehind) {
      this.#stream.write(message);
      return;
    }
    this.#missed += 1;
    if (this.#stream.bufferedBytes > 0) return;
    this.#isBehind = false;
    // The complete state includes this message.
    this.#stream.write(this.#completeState(this.#missed));
  }

  /**
   * Sends the complete state, unless the viewer is too slow: it receives the state when it has read all data.
   */
  sendComplete(): void {
    if (!this.#isBehind && this.#stream.bufferedBytes <= MAX_BUFFERED)
      this.#stream.write(this.#completeState(this.#missed));
  }

  /** Sends a comment, so that proxies keep the connection. */
  heartbeat(): void {
    if (!this.#isBehind) this.#stream.write(': \n\n');
  }

  end(): void {
    this.#stream.end();
  }
}

/** Formats a server-sent event. The text is created once and sent to all viewers. */
export function eventText(event: 'tree' | 'frame' | 'numbers', data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
