// A client of the public MCP SDKs in the same process: the gateway at the other end of its transport, without a socket. One
// transport is one client; it speaks whichever era its client speaks.
//
// LT1  messages reach the client in the order in which the gateway gave them, and never while it is still in `send`.
// LT2  after `close` nothing reaches the client, its session has ended, and what it had asked is cancelled.

import { GatewayError, StoppedError } from '../../actors/base/errors/errors.ts';
import type { Gateway as Core } from '../../actors/gateway/gateway.ts';
import type { Origin } from '../../actors/mcp/clients/message-router.ts';
import type { Outlet } from '../../actors/mcp/clients/outlet.ts';
import type { Endpoint } from '../../actors/mcp/clients/profiles/profile.ts';
import type { ClientSession } from '../../actors/mcp/clients/sessions/session.ts';
import { errorMessage, resultMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import type { Envelope } from '../../actors/mcp/jsonrpc/envelope.ts';
import { readClientMessage } from '../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../actors/mcp/jsonrpc/rpc-fault.ts';
import { rawOf, whole } from '../../actors/mcp/jsonrpc/span.ts';
import { coreOf } from './embedded-gateway.ts';
import type { Gateway } from './gateway.ts';

export interface GatewayTransportOptions {
  /** The id of the one server to talk to, its names without prefix; without it all of them, as at /mcp. */
  readonly server?: string;
}

/** A request of the modern era that is under way. */
interface Running {
  cancel?: (reason?: string) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: the type of the SDK's messages is the SDK's, which the library does not import.
type JsonRpcMessage = any;

/** What the SDKs call a Transport: `await client.connect(new GatewayTransport(gateway))`. */
export class GatewayTransport {
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;

  readonly #gateway: Core;
  readonly #server: string | undefined;
  readonly #running = new Map<string, Running>();
  #session: ClientSession | undefined;
  #isClosed = false;
  #requests = 0;

  constructor(gateway: Gateway, { server }: GatewayTransportOptions = {}) {
    this.#gateway = coreOf(gateway);
    this.#server = server;
  }

  /** Throws UnknownServerError for a server that the catalog does not have. */
  async start(): Promise<void> {
    this.#target();
  }

  /** What is wrong with a request is its answer. Rejects with StoppedError after `close`. */
  async send(message: JsonRpcMessage): Promise<void> {
    if (this.#isClosed) throw new StoppedError('the transport has been closed');
    let envelope: Envelope | undefined;
    try {
      envelope = readClientMessage(Buffer.from(JSON.stringify(message)));
      this.#take(envelope);
    } catch (error) {
      this.#deliver(this.#refusal(error, envelope?.rawId));
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const running of [...this.#running.values()]) running.cancel?.('the client has left');
    if (this.#session?.isEnded === false) this.#gateway.mcp.clients.router.end(this.#session);
    this.onclose?.();
  }

  #take(envelope: Envelope): void {
    const { router } = this.#gateway.mcp.clients;
    if (envelope.kind === 'request' && envelope.isModern) this.#takeStateless(envelope);
    else if (envelope.kind !== 'request') this.#note(envelope);
    else if (envelope.method === 'initialize' && this.#session === undefined) {
      router.open(envelope, this.#target(), this.#outlet(), this.#origin(), (session) =>
        this.#begin(session),
      );
    } else if (this.#session !== undefined)
      router.request(this.#session, envelope, this.#outlet(), this.#origin());
    else if (envelope.method === 'ping') this.#deliver(resultMessage(envelope.rawId, {}));
    else throw new RpcFault(rpcCodes.invalidRequest, 'initialize first', envelope.rawId);
  }

  #begin(session: ClientSession): void {
    this.#session = session;
    const send = (message: Buffer) => this.#deliver(message);
    session.stream = { isConnected: true, send, end: () => void this.close() };
  }

  #note(envelope: Envelope): void {
    const requestId = envelope.method === 'notifications/cancelled' ? envelope.param('requestId') : undefined;
    const running = requestId && this.#running.get(rawOf(envelope.bytes, requestId));
    if (running !== undefined) running.cancel?.('the client has cancelled it');
    else if (this.#session !== undefined) this.#gateway.mcp.clients.router.note(this.#session, envelope);
  }

  /** A request of the modern era stands for itself. */
  #takeStateless(envelope: Envelope): void {
    const { rawId } = envelope;
    const running: Running = {};
    this.#running.set(rawId, running);
    const outlet = this.#outlet(() => {
      if (this.#running.get(rawId) === running) this.#running.delete(rawId);
    });
    try {
      const begun = this.#gateway.mcp.clients.router.stateless(
        envelope,
        this.#target(),
        outlet,
        this.#origin(),
      );
      if (begun !== undefined) running.cancel = (reason) => begun.cancel(reason);
    } catch (error) {
      outlet.drop();
      throw error;
    }
  }

  #outlet(onDone: () => void = () => {}): Outlet {
    return {
      send: (message) => this.#deliver(whole(message)),
      finish: (message) => {
        onDone();
        this.#deliver(message);
      },
      drop: onDone,
    };
  }

  /** LT1: a client learns of an answer once its own `send` is over, as it would over a socket. */
  #deliver(message: Buffer): void {
    const text = message.toString('utf8');
    queueMicrotask(() => {
      if (this.#isClosed) return;
      try {
        this.onmessage?.(JSON.parse(text));
      } catch (error) {
        this.onerror?.(error as Error);
      }
    });
  }

  #refusal(error: unknown, rawId: string | undefined): Buffer {
    if (error instanceof RpcFault)
      return errorMessage(error.rawId ?? rawId, error.code, error.message, error.data);
    if (error instanceof GatewayError)
      return errorMessage(rawId, error.rpcCode, this.#gateway.redactor.redact(error.message), error.data);
    throw error;
  }

  #target(): Endpoint {
    return {
      server: this.#server === undefined ? undefined : this.#gateway.mcp.servers.require(this.#server),
    };
  }

  #origin(): Origin {
    this.#requests += 1;
    return { requestId: `library-${this.#requests}` };
  }
}
