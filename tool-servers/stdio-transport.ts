// Stdio transport for tool servers, with two additions to the SDK's transport. It tracks open requests, so
// clients that close stdin after writing (shell pipes) still receive all responses. It pauses reading while
// the client does not read its responses, because these would fill the memory.
//
// 1. A line longer than MAX_LINE_BYTES closes the connection, because the next message cannot be located.
// 2. A request is open until its response is written or the client cancels it.
// 3. While the client has more than MAX_UNREAD_BYTES to read, input is paused and `whenWritable` does not
//    resolve.

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

const MAX_LINE_BYTES = 32 * 1024 * 1024;
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #stdio = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: MAX_LINE_BYTES,
  });
  readonly #rewrite: (message: JSONRPCMessage) => JSONRPCMessage;
  readonly #openRequests = new Set<RequestId>();
  #whenAllAnswered: (() => void) | undefined;
  #whenWritable: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** @param rewrite changes messages of the client before they are handled, for example argument aliases */
  constructor(rewrite: (message: JSONRPCMessage) => JSONRPCMessage = (message) => message) {
    this.#rewrite = rewrite;
  }

  async start(): Promise<void> {
    this.#stdio.onmessage = (message) => this.#receive(message);
    this.#stdio.onerror = (error) => this.onerror?.(error);
    this.#stdio.onclose = () => this.onclose?.();
    await this.#stdio.start();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve) => {
      // Write errors are ignored here: program.ts exits on the stream's error event.
      process.stdout.write(serializeMessage(message), () => {
        if (!('method' in message) && message.id !== undefined) this.#removeRequest(message.id);
        if (process.stdout.writableLength <= MAX_UNREAD_BYTES) this.#resumeInput();
        resolve();
      });
      if (process.stdout.writableLength > MAX_UNREAD_BYTES) this.#pauseInput();
    });
  }

  /** Resolves when the client has read enough of its responses; immediately if output is not blocked. */
  whenWritable(): Promise<void> {
    return this.#whenWritable?.promise ?? Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#stdio.close();
  }

  /** Resolves when no request is open. Never times out. */
  whenAllAnswered(): Promise<void> {
    if (this.#openRequests.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenAllAnswered = resolve;
    });
  }

  #pauseInput(): void {
    if (this.#whenWritable !== undefined) return;
    let resolve = () => {};
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    this.#whenWritable = { promise, resolve };
    process.stdin.pause();
  }

  #resumeInput(): void {
    if (this.#whenWritable === undefined) return;
    this.#whenWritable.resolve();
    this.#whenWritable = undefined;
    process.stdin.resume();
  }

  #receive(message: JSONRPCMessage): void {
    if ('method' in message && 'id' in message) this.#openRequests.add(message.id);
    if ('method' in message && message.method === 'notifications/cancelled') {
      const cancelledId = message.params?.requestId;
      if (typeof cancelledId === 'string' || typeof cancelledId === 'number')
        this.#removeRequest(cancelledId);
    }
    this.onmessage?.(this.#rewriteSafely(message));
  }

  /**
   * Rewrites a message. If that fails (arguments nested too deeply), the original passes and validation
   * rejects it.
   */
  #rewriteSafely(message: JSONRPCMessage): JSONRPCMessage {
    try {
      return this.#rewrite(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      return message;
    }
  }

  #removeRequest(id: RequestId): void {
    this.#openRequests.delete(id);
    if (this.#openRequests.size === 0) this.#whenAllAnswered?.();
  }
}
