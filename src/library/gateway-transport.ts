// Transport for a client of the public MCP SDKs in the same process, without a socket. Each transport is one
// client. It supports both eras: protocol versions with sessions (up to 2025-11-25), and the modern era
// without sessions (2026-07-28). Messages reach the client in the gateway's order, and never during `send`.
// `close` closes the session and cancels open requests; afterwards no message reaches the client.

import { GatewayError, StoppedError } from '../../actors/base/errors/errors.ts';
import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import type { RequestOrigin } from '../../actors/mcp/clients/message-router.ts';
import type { Outlet } from '../../actors/mcp/clients/outlet.ts';
import type { Endpoint } from '../../actors/mcp/clients/profiles/profile.ts';
import type { ClientSession } from '../../actors/mcp/clients/sessions/session.ts';
import { errorMessage, resultMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import type { Envelope } from '../../actors/mcp/jsonrpc/envelope.ts';
import { readClientMessage } from '../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../actors/mcp/jsonrpc/rpc-fault.ts';
import { rawOf, toBuffer } from '../../actors/mcp/jsonrpc/span.ts';
import { coreOf } from './embedded-gateway.ts';
import type { Gateway } from './gateway.ts';

export interface GatewayTransportOptions {
  /** Id of a single server, whose tool names have no prefix. @default all servers, as at /mcp */
  readonly server?: string;
}

/** Open request of the modern era. */
interface Running {
  cancel?: (reason?: string) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: the library does not import the SDK and its message types.
type JsonRpcMessage = any;

/** Implements the SDKs' Transport: `await client.connect(new GatewayTransport(gateway))`. */
export class GatewayTransport {
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;

  readonly #gateway: GatewayRuntime;
  readonly #server: string | undefined;
  readonly #running = new Map<string, Running>();
  #session: ClientSession | undefined;
  #isClosed = false;
  #requests = 0;

  constructor(gateway: Gateway, { server }: GatewayTransportOptions = {}) {
    this.#gateway = coreOf(gateway);
    this.#server = server;
  }

  /** Rejects with UnknownServerError if the catalog lacks the server. */
  async start(): Promise<void> {
    this.#target();
  }

  /** Invalid requests get an error response. Rejects with StoppedError after `close`. */
  async send(message: JsonRpcMessage): Promise<void> {
    if (this.#isClosed) throw new StoppedError('the transport is closed');
    let envelope: Envelope | undefined;
    try {
      envelope = readClientMessage(Buffer.from(JSON.stringify(message)));
      this.#handle(envelope);
    } catch (error) {
      this.#deliver(this.#errorResponse(error, envelope?.rawId));
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const running of [...this.#running.values()]) running.cancel?.('the client has left');
    if (this.#session?.isEnded === false) await this.#gateway.mcp.clients.router.endSession(this.#session);
    this.onclose?.();
  }

  #handle(envelope: Envelope): void {
    const { router } = this.#gateway.mcp.clients;
    if (envelope.kind === 'request' && envelope.isModern) this.#handleStateless(envelope);
    else if (envelope.kind !== 'request') this.#handleNotification(envelope);
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

  #handleNotification(envelope: Envelope): void {
    const requestId = envelope.method === 'notifications/cancelled' ? envelope.param('requestId') : undefined;
    const running = requestId && this.#running.get(rawOf(envelope.bytes, requestId));
    if (running !== undefined) running.cancel?.('cancelled by the client');
    else if (this.#session !== undefined) this.#gateway.mcp.clients.router.receive(this.#session, envelope);
  }

  /** Handles a request of the modern era, which has no session. */
  #handleStateless(envelope: Envelope): void {
    const { rawId } = envelope;
    const running: Running = {};
    this.#running.set(rawId, running);
    const outlet = this.#outlet(() => {
      if (this.#running.get(rawId) === running) this.#running.delete(rawId);
    });
    try {
      const call = this.#gateway.mcp.clients.router.modernRequest(
        envelope,
        this.#target(),
        outlet,
        this.#origin(),
      );
      if (call !== undefined) running.cancel = (reason) => call.cancel(reason);
    } catch (error) {
      outlet.drop();
      throw error;
    }
  }

  #outlet(onEnd: () => void = () => {}): Outlet {
    return {
      send: (message) => this.#deliver(toBuffer(message)),
      finish: (message) => {
        onEnd();
        this.#deliver(message);
      },
      drop: onEnd,
    };
  }

  /** Delivers asynchronously, as over a socket: clients expect no response during `send`. */
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

  #errorResponse(error: unknown, rawId: string | undefined): Buffer {
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

  #origin(): RequestOrigin {
    this.#requests += 1;
    return { requestId: `library-${this.#requests}`, sender: 'library' };
  }
}
