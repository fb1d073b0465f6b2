// Confirms that a client reads the messages, by a ping after them. In a session each party may send pings,
// and the other must respond promptly (protocol 2025-11-25, "Ping"). Clients of the modern era, which have no
// session, accept no requests.

import { requestMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import type { Envelope } from '../../actors/mcp/jsonrpc/envelope.ts';
import { rawJson } from '../../actors/mcp/jsonrpc/span.ts';
import type { LineOutput } from './line-output.ts';

export class ReadReceipts {
  readonly #lines: LineOutput;
  readonly #pending = new Map<string, () => void>();
  #count = 0;

  constructor(lines: LineOutput) {
    this.#lines = lines;
  }

  /**
   * Sends a ping, and calls `onRead` when all previous messages were read. Returns a function that
   * removes the request; the caller must call it.
   */
  request(onRead: () => void): () => void {
    this.#count += 1;
    // A text, because requests of servers have numbers as ids.
    const rawId = rawJson(`gateway-ping-${this.#count}`);
    this.#pending.set(rawId, onRead);
    this.#lines.write(requestMessage(rawId, 'ping', undefined));
    return () => this.#pending.delete(rawId);
  }

  /** Handles the response to a ping. Returns false for other responses. */
  accept(response: Envelope): boolean {
    const onRead = this.#pending.get(response.rawId);
    onRead?.();
    return onRead !== undefined;
  }
}
