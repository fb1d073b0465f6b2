// Front (client side of the gateway) for one client on stdin and stdout, with one JSON-RPC message per line.
// Started last and drained first, like the HTTP front.
//
// - An invalid line gets an error response, with the id of the message if it is readable.
// - If the client stops reading, the input is paused (line-output.ts bounds the output).
// - When stdin closes, the client is gone. Calls in flight may complete in the grace period.
// - Over stdio, the gateway cannot make a client initialize again. If the session was closed because its
//   server process exited, the gateway repeats the client's `initialize` request before the next request.
// - Requests of the modern era (MCP 2026-07-28) have no session. This file calls them stateless. Clients of
//   earlier versions have one session.

import type { Readable, Writable } from 'node:stream';
import { StoppedError } from '../../actors/base/errors/errors.ts';
import type { Part } from '../../actors/base/supervision/part.ts';
import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import { type ModernCaller, readCaller } from '../../actors/mcp/clients/eras/modern-caller.ts';
import type { RequestOrigin } from '../../actors/mcp/clients/message-router.ts';
import type { Outlet } from '../../actors/mcp/clients/outlet.ts';
import type { Endpoint } from '../../actors/mcp/clients/profiles/profile.ts';
import type { ClientSession } from '../../actors/mcp/clients/sessions/session.ts';
import { resultMessage } from '../../actors/mcp/jsonrpc/compose.ts';
import type { Envelope } from '../../actors/mcp/jsonrpc/envelope.ts';
import { readClientMessage } from '../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../../actors/mcp/jsonrpc/rpc-fault.ts';
import { rawOf } from '../../actors/mcp/jsonrpc/span.ts';
import { LineSplitter } from '../../actors/mcp/links/stdio/line-splitter.ts';
import { LineOutlet } from './line-outlet.ts';
import { LineOutput } from './line-output.ts';
import { ReadReceipts } from './read-receipts.ts';
import { errorResponse, isJson, oversizedResponse } from './refusals.ts';

type StdioGateway = Pick<GatewayRuntime, 'config' | 'redactor' | 'life' | 'mcp'>;

export interface StdioFrontOptions {
  readonly gateway: StdioGateway;
  readonly input: Readable;
  readonly output: Writable;
  /** Serve only this server, with unprefixed tool names; undefined for all servers. */
  readonly server: string | undefined;
  /** Profile, instead of a server. */
  readonly profile?: string | undefined;
  /** True to request unknown tool lists before the client requests them. This starts the servers. */
  readonly isLearning: boolean;
  /** Called after a disconnect, and with an error for clients that stop reading. */
  onEnd(error: Error | undefined): void;
}

/** Minimum capacity of the output queue. It is larger if two messages of maximum size need more. */
const MIN_QUEUE_BYTES = 64 * 1024 * 1024;

/**
 * Delay before servers are started if no session exists. Servers started by `initialize` can also serve the
 * calls in that session.
 */
const LEARN_AFTER_MS = 1000;

/** Time limit for writing the last messages. */
const FLUSH_MS = 250;

/** Drops the response to a repeated `initialize`, which is already known. */
const discarded: Outlet = { send: () => {}, finish: () => {}, drop: () => {} };

export class StdioFront implements Part {
  readonly #options: StdioFrontOptions;
  readonly #open = new Set<LineOutlet>();
  /** Open stateless requests, by raw id. */
  readonly #stateless = new Map<string, LineOutlet>();
  readonly #gateway: StdioGateway;
  readonly #lines: LineOutput;
  readonly #receipts: ReadReceipts;
  #session: ClientSession | undefined;
  /** The client's successful `initialize` request. */
  #initializeRequest: Envelope | undefined;
  #learnTimer: NodeJS.Timeout | undefined;
  #requests = 0;
  #isCutShort = false;
  #onSettled: (() => void) | undefined;

  constructor(options: StdioFrontOptions) {
    const { gateway, input, output, onEnd } = options;
    this.#options = options;
    this.#gateway = gateway;
    this.#lines = new LineOutput({
      output,
      maxBytes: Math.max(MIN_QUEUE_BYTES, 2 * gateway.config.limits.message_bytes),
      onBackpressure: (isFull) => {
        if (isFull) input.pause();
        else if (!gateway.life.isEnding) input.resume();
      },
      onLost: (error) => {
        this.cutShort();
        onEnd(error);
      },
    });
    this.#receipts = new ReadReceipts(this.#lines);
    const splitter = new LineSplitter(gateway.config.limits.body_bytes, {
      onLine: (line) => this.#onLine(line),
      onOversized: (size, id, requestId) => this.#onOversized(size, id, requestId),
    });
    const onInputEnd = () => {
      // The last line may lack a line break.
      this.#onLine(splitter.end());
      onEnd(undefined);
    };
    if (options.isLearning) this.#learnTimer = setTimeout(() => this.#learn(), LEARN_AFTER_MS);
    input.on('data', (chunk: Buffer) => splitter.push(chunk));
    input.once('end', onInputEnd);
    input.once('error', onInputEnd);
  }

  /** Waits up to `graceMs` for calls in flight, then fails them. */
  async drain(graceMs: number): Promise<void> {
    this.#options.input.pause();
    clearTimeout(this.#learnTimer);
    // Streams that clients listen to never close on their own.
    this.#gateway.mcp.clients.sessions.closeStreams();
    if (this.#open.size === 0) return;
    if (!this.#isCutShort) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#onSettled = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#gateway.mcp.failCalls(new StoppedError('the gateway was stopped before the call was answered'));
  }

  /** Cuts the grace period of `drain` short. */
  cutShort(): void {
    this.#isCutShort = true;
    this.#onSettled?.();
  }

  /** Writes the held-back responses, and blocks briefly for the client to read them. Called last. */
  async flush(): Promise<void> {
    for (const outlet of [...this.#open]) outlet.release();
    await this.#lines.flush(FLUSH_MS);
  }

  #onLine(line: Buffer): void {
    // Some clients write blank lines between messages.
    if (line.every((byte) => byte <= 0x20)) return;
    let envelope: Envelope | undefined;
    try {
      envelope = readClientMessage(line);
      this.#handle(envelope);
    } catch (error) {
      const gateway = this.#gateway;
      const lines = this.#lines;
      lines.write(errorResponse(error, envelope?.rawId ?? '', (text) => gateway.redactor.redact(text)));
    }
  }

  /** Dispatches a message: to the session, or as a stateless request of the modern era. */
  #handle(envelope: Envelope): void {
    const lines = this.#lines;
    const receipts = this.#receipts;
    const { router } = this.#gateway.mcp.clients;
    if (envelope.isModern && envelope.kind === 'request') {
      this.#handleStateless(envelope);
      return;
    }
    if (envelope.kind === 'answer' && receipts.accept(envelope)) return;
    if (envelope.method === 'notifications/cancelled' && this.#cancelStateless(envelope)) return;
    if (envelope.kind !== 'request') {
      if (this.#session !== undefined) router.receive(this.#session, envelope);
    } else if (envelope.method === 'initialize' && this.#session?.isEnded !== false) {
      this.#initialize(envelope);
    } else if (envelope.method === 'ping' && this.#session === undefined) {
      lines.write(resultMessage(envelope.rawId, {}));
    } else {
      router.request(this.#liveSession(), envelope, this.#outlet(receipts), this.#origin());
    }
  }

  /** Handles a request of the modern era, which has no session. */
  #handleStateless(envelope: Envelope): void {
    const { rawId } = envelope;
    const outlet = this.#outlet(undefined, () => {
      if (this.#stateless.get(rawId) === outlet) this.#stateless.delete(rawId);
    });
    this.#stateless.set(rawId, outlet);
    try {
      outlet.running = this.#gateway.mcp.clients.router.modernRequest(
        envelope,
        this.#endpoint,
        outlet,
        this.#origin(),
      );
      // Some clients start a separate process only to detect the era; it should not start servers.
      if (this.#learnTimer !== undefined && envelope.method !== 'server/discover')
        this.#learn(readCaller(envelope));
    } catch (error) {
      outlet.drop();
      throw error;
    }
  }

  /** Cancels a stateless request. Returns false if the notification belongs to the session. */
  #cancelStateless(envelope: Envelope): boolean {
    const requestId = envelope.param('requestId');
    const outlet = requestId && this.#stateless.get(rawOf(envelope.bytes, requestId));
    if (outlet === undefined) return false;
    const { reason } = envelope.parse(envelope.params) as { reason?: unknown };
    outlet.running?.cancel(typeof reason === 'string' ? reason : undefined);
    return true;
  }

  #initialize(envelope: Envelope): void {
    const outlet = this.#outlet();
    const outletWithSession: Outlet = {
      send: (message) => outlet.send(message),
      finish: (message, error) => {
        if (error === undefined) {
          this.#initializeRequest = envelope;
          this.#listen();
          this.#learn();
        }
        outlet.finish(message);
      },
      drop: () => outlet.drop(),
    };
    try {
      this.#gateway.mcp.clients.router.open(
        envelope,
        this.#endpoint,
        outletWithSession,
        this.#origin(),
        (session) => {
          this.#session = session;
        },
      );
    } catch (error) {
      outlet.drop();
      throw error;
    }
  }

  /** Requests the unknown tool lists, once: for the client's session or for a stateless caller. */
  #learn(caller?: ModernCaller): void {
    if (this.#learnTimer === undefined) return;
    clearTimeout(this.#learnTimer);
    this.#learnTimer = undefined;
    const { view, eraBridge } = this.#gateway.mcp.clients;
    const { discovery } = this.#endpoint.profile ?? view;
    discovery.learn(eraBridge.listingClientOf({ session: this.#session, caller }));
  }

  /** Returns the session. Reopens a closed session. */
  #liveSession(): ClientSession {
    if (this.#session?.isEnded === true && this.#initializeRequest !== undefined) {
      this.#gateway.mcp.clients.router.open(
        this.#initializeRequest,
        this.#endpoint,
        discarded,
        this.#origin(),
        (session) => {
          this.#session = session;
        },
      );
      this.#listen();
    }
    if (this.#session === undefined) throw new RpcFault(rpcCodes.invalidRequest, 'initialize first');
    return this.#session;
  }

  /** Connects the session's stream to stdout: a stdio client always listens. */
  #listen(): void {
    if (this.#session === undefined) return;
    const lines = this.#lines;
    this.#session.stream = { isConnected: true, send: (message) => lines.write(message), end: () => {} };
  }

  #onOversized(size: number, id: string | undefined, requestId: string | undefined): void {
    const gateway = this.#gateway;
    const lines = this.#lines;
    const { router } = gateway.mcp.clients;
    const limit = gateway.config.limits.body_bytes;
    if (id === undefined || !isJson(id)) lines.write(oversizedResponse(size, limit, requestId));
    // An oversized response to a server's request: the server receives an error instead.
    else if (this.#session !== undefined)
      router.receive(this.#session, readClientMessage(oversizedResponse(size, limit, id)));
  }

  #outlet(receipts?: ReadReceipts, onEnd: () => void = () => {}): LineOutlet {
    const outlet = new LineOutlet(this.#lines, receipts, (done) => {
      this.#open.delete(done);
      onEnd();
      if (this.#open.size === 0) this.#onSettled?.();
    });
    this.#open.add(outlet);
    return outlet;
  }

  #origin(): RequestOrigin {
    this.#requests += 1;
    return { requestId: String(this.#requests), sender: 'stdio' };
  }

  get #endpoint(): Endpoint {
    const { server, profile } = this.#options;
    const { clients, servers } = this.#gateway.mcp;
    if (profile !== undefined) return { profile: clients.profiles.get(profile) };
    return { server: server === undefined ? undefined : servers.require(server) };
  }
}
