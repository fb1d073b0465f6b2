// The stdio transport of a tool server: the SDK's for what comes in, and its own way out. It knows which requests are still
// unanswered, so that a client that wrote its requests and closed its end (a shell pipe) still gets its answers; and it
// holds back a client that asks without reading, whose answers would fill the memory.
//
// 1. A line longer than MAX_LINE_BYTES ends the line: what follows it cannot be told from its rest.
// 2. A request counts as open from its arrival until its answer has left the process, or until the client cancels it.
// 3. While more than FULL_BYTES wait to be read by the client, nothing is read from it, and `room` does not resolve.

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

const MAX_LINE_BYTES = 32 * 1024 * 1024;
const FULL_BYTES = 4 * 1024 * 1024;

export class StdioLine implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #stdio = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: MAX_LINE_BYTES,
  });
  readonly #rewrite: (message: JSONRPCMessage) => JSONRPCMessage;
  readonly #open = new Set<RequestId>();
  #whenSettled: (() => void) | undefined;
  #whenRoom: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;

  /** @param rewrite changes what the client sent before anybody reads it, such as other names of a parameter */
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
      // After an error there is nobody left to tell; the program ends by the stream's own event.
      process.stdout.write(serializeMessage(message), () => {
        if (!('method' in message) && message.id !== undefined) this.#settle(message.id);
        if (process.stdout.writableLength <= FULL_BYTES) this.#goOn();
        resolve();
      });
      if (process.stdout.writableLength > FULL_BYTES) this.#holdBack();
    });
  }

  /** Resolves when the client reads what it has asked for; at once as long as it does. */
  room(): Promise<void> {
    return this.#whenRoom?.promise ?? Promise.resolve();
  }

  async close(): Promise<void> {
    await this.#stdio.close();
  }

  /** Resolves when every request has its answer; at once when none is open. Has no deadline of its own. */
  settled(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenSettled = resolve;
    });
  }

  #holdBack(): void {
    if (this.#whenRoom !== undefined) return;
    let resolve = () => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    this.#whenRoom = { promise, resolve };
    process.stdin.pause();
  }

  #goOn(): void {
    if (this.#whenRoom === undefined) return;
    this.#whenRoom.resolve();
    this.#whenRoom = undefined;
    process.stdin.resume();
  }

  #receive(message: JSONRPCMessage): void {
    if ('method' in message && 'id' in message) this.#open.add(message.id);
    if ('method' in message && message.method === 'notifications/cancelled') {
      const cancelled = message.params?.requestId;
      if (typeof cancelled === 'string' || typeof cancelled === 'number') this.#settle(cancelled);
    }
    this.onmessage?.(this.#readable(message));
  }

  /** Arguments that cannot be gone through (nested too deeply) are left as they are; whoever checks them refuses them. */
  #readable(message: JSONRPCMessage): JSONRPCMessage {
    try {
      return this.#rewrite(message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      return message;
    }
  }

  #settle(id: RequestId): void {
    this.#open.delete(id);
    if (this.#open.size === 0) this.#whenSettled?.();
  }
}
