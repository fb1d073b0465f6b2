// How we know that a client has read what was written to it: it is sent a ping after it, which any party of a session
// may send at any time and must be answered promptly (2025-11-25, "Ping"). Modern clients take no requests.

import { requestMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import type { Envelope } from '../../actors/mcp/jsonrpc/envelope.ts';
import { rawJson } from '../../actors/mcp/jsonrpc/span.ts';
import type { LineOutput } from './line-output.ts';

export class ReadReceipts {
  readonly #lines: LineOutput;
  readonly #awaited = new Map<string, () => void>();
  #count = 0;

  constructor(lines: LineOutput) {
    this.#lines = lines;
  }

  /** Calls back when everything written so far was read. Gives what ends the waiting; it must be called. */
  ask(onRead: () => void): () => void {
    this.#count += 1;
    // Text, because the numbers are for what servers ask.
    const rawId = rawJson(`gateway-ping-${this.#count}`);
    this.#awaited.set(rawId, onRead);
    this.#lines.write(requestMessage(rawId, 'ping', undefined));
    return () => this.#awaited.delete(rawId);
  }

  /** Whether the answer is one to a ping of ours. */
  take(answer: Envelope): boolean {
    const onRead = this.#awaited.get(answer.rawId);
    onRead?.();
    return onRead !== undefined;
  }
}
