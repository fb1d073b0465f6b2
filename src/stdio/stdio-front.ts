// The front for one client on stdin and stdout, one message per line. A part of the gateway, started last and drained first, like the
// HTTP front.
//
// SX1  stdout carries JSON-RPC messages only, one per line.
// SX2  a line that cannot be taken is answered with an error, with its id where that can be found; the next is read.
// SX3  while the client does not read, nothing more is read from it; see line-output.ts for the bound on what waits.
// SX4  the end of stdin is the end of the client. Calls in flight may still end within the grace of the drain.
// SX5  a client cannot be told over stdio to initialise anew. When its session has ended with its server's process,
//     its next request begins another one, introduced as the client has introduced itself.

import type { Readable, Writable } from 'node:stream';
import { StoppedError } from '../../actors/base/errors/errors.ts';
import type { Part } from '../../actors/base/supervision/part.ts';
import type { Gateway } from '../../actors/gateway/gateway.ts';
import { type ModernCaller, readCaller } from '../../actors/mcp/clients/eras/modern-caller.ts';
import type { Origin } from '../../actors/mcp/clients/message-router.ts';
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
import { isJson, oversizedRefusal, refusal } from './refusals.ts';

type StdioGateway = Pick<Gateway, 'config' | 'redactor' | 'life' | 'mcp'>;

export interface StdioFrontOptions {
  readonly gateway: StdioGateway;
  readonly input: Readable;
  readonly output: Writable;
  /** The client talks to this server alone, its names untouched; without it, to all of them. */
  readonly server: string | undefined;
  /** Or to the servers of this profile. */
  readonly profile?: string | undefined;
  /** Servers that nothing is known of are started without being asked for. */
  readonly isLearning: boolean;
  /** The client has left; with an error when it is there and does not read. */
  onEnd(error: Error | undefined): void;
}

/** So much may wait for the client, or two of the largest messages. */
const MIN_WAITING_BYTES = 64 * 1024 * 1024;

/** A client says at once whether it wants a session: servers are then started in its name, so that its calls find them. */
const FIRST_WORD_MS = 1000;

/** For what was written last to leave. */
const LAST_WORDS_MS = 250;

/** The client has had its answer. */
const nowhere: Outlet = { send: () => {}, finish: () => {}, drop: () => {} };

export class StdioFront implements Part {
  readonly #options: StdioFrontOptions;
  readonly #open = new Set<LineOutlet>();
  /** Requests of the modern era that are under way, by their raw id. */
  readonly #stateless = new Map<string, LineOutlet>();
  readonly #gateway: StdioGateway;
  readonly #lines: LineOutput;
  readonly #receipts: ReadReceipts;
  #session: ClientSession | undefined;
  /** The client's `initialize`, once it was answered well. */
  #introduction: Envelope | undefined;
  #learning: NodeJS.Timeout | undefined;
  #requests = 0;
  #hasLeft = false;
  #whenSettled: (() => void) | undefined;

  constructor(options: StdioFrontOptions) {
    const { gateway, input, output, onEnd } = options;
    this.#options = options;
    this.#gateway = gateway;
    this.#lines = new LineOutput({
      output,
      maxBytes: Math.max(MIN_WAITING_BYTES, 2 * gateway.config.limits.message_bytes),
      onStuffed: (isStuffed) => {
        if (isStuffed) input.pause();
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
      // A last message may lack its line end.
      this.#onLine(splitter.end());
      onEnd(undefined);
    };
    if (options.isLearning) this.#learning = setTimeout(() => this.#learn(), FIRST_WORD_MS);
    input.on('data', (chunk: Buffer) => splitter.push(chunk));
    input.once('end', onInputEnd);
    input.once('error', onInputEnd);
  }

  /** Lets calls in flight end within `graceMs`, and fails the others. */
  async drain(graceMs: number): Promise<void> {
    this.#options.input.pause();
    clearTimeout(this.#learning);
    // What only listens would never end by itself.
    this.#gateway.mcp.clients.sessions.closeStreams();
    if (this.#open.size === 0) return;
    if (!this.#hasLeft) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        this.#whenSettled = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#gateway.mcp.failCalls(new StoppedError('the gateway was stopped before the call was answered'));
  }

  /** Ends the grace of `drain` now. */
  cutShort(): void {
    this.#hasLeft = true;
    this.#whenSettled?.();
  }

  /** Writes what is still held back, and waits a moment for the client to take it. The last thing to be done. */
  async flush(): Promise<void> {
    for (const outlet of [...this.#open]) outlet.release();
    await this.#lines.flush(LAST_WORDS_MS);
  }

  #onLine(line: Buffer): void {
    // Only line ends and spaces: some clients end a message with more than one line end.
    if (line.every((byte) => byte <= 0x20)) return;
    let envelope: Envelope | undefined;
    try {
      envelope = readClientMessage(line);
      this.#take(envelope);
    } catch (error) {
      const gateway = this.#gateway;
      const lines = this.#lines;
      lines.write(refusal(error, envelope?.rawId ?? '', (text) => gateway.redactor.redact(text)));
    }
  }

  /** The one place that decides between a session and a request that stands for itself. */
  #take(envelope: Envelope): void {
    const lines = this.#lines;
    const receipts = this.#receipts;
    const { router } = this.#gateway.mcp.clients;
    if (envelope.isModern && envelope.kind === 'request') {
      this.#takeStateless(envelope);
      return;
    }
    if (envelope.kind === 'answer' && receipts.take(envelope)) return;
    if (envelope.method === 'notifications/cancelled' && this.#cancelStateless(envelope)) return;
    if (envelope.kind !== 'request') {
      if (this.#session !== undefined) router.note(this.#session, envelope);
    } else if (envelope.method === 'initialize' && this.#session?.isEnded !== false) {
      this.#initialize(envelope);
    } else if (envelope.method === 'ping' && this.#session === undefined) {
      lines.write(resultMessage(envelope.rawId, {}));
    } else {
      router.request(this.#liveSession(), envelope, this.#outlet(receipts), this.#origin());
    }
  }

  /** A request of the modern era stands for itself. */
  #takeStateless(envelope: Envelope): void {
    const { rawId } = envelope;
    const outlet = this.#outlet(undefined, () => {
      if (this.#stateless.get(rawId) === outlet) this.#stateless.delete(rawId);
    });
    this.#stateless.set(rawId, outlet);
    try {
      outlet.running = this.#gateway.mcp.clients.router.stateless(
        envelope,
        this.#endpoint,
        outlet,
        this.#origin(),
      );
      // Some clients find out the era from a process of its own, which they end as soon as they know.
      if (this.#learning !== undefined && envelope.method !== 'server/discover')
        this.#learn(readCaller(envelope));
    } catch (error) {
      outlet.drop();
      throw error;
    }
  }

  /** Whether a notification of the client has cancelled a request of the modern era. */
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
    const introduced: Outlet = {
      send: (message) => outlet.send(message),
      finish: (message, error) => {
        if (error === undefined) {
          this.#introduction = envelope;
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
        introduced,
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

  /** Once, in the name of the client's session if it has one by then, or of who asks without. */
  #learn(caller?: ModernCaller): void {
    if (this.#learning === undefined) return;
    clearTimeout(this.#learning);
    this.#learning = undefined;
    const { view, eraBridge } = this.#gateway.mcp.clients;
    const { discovery } = this.#endpoint.profile ?? view;
    discovery.learn(eraBridge.listingClientOf({ session: this.#session, caller }));
  }

  /** SX5 */
  #liveSession(): ClientSession {
    if (this.#session?.isEnded === true && this.#introduction !== undefined) {
      this.#gateway.mcp.clients.router.open(
        this.#introduction,
        this.#endpoint,
        nowhere,
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

  /** Over stdio a client always listens. */
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
    if (id === undefined || !isJson(id)) lines.write(oversizedRefusal(size, limit, requestId));
    // An answer: the server that waits for it hears that there will be none.
    else if (this.#session !== undefined)
      router.note(this.#session, readClientMessage(oversizedRefusal(size, limit, id)));
  }

  #outlet(receipts?: ReadReceipts, onDone: () => void = () => {}): LineOutlet {
    const outlet = new LineOutlet(this.#lines, receipts, (done) => {
      this.#open.delete(done);
      onDone();
      if (this.#open.size === 0) this.#whenSettled?.();
    });
    this.#open.add(outlet);
    return outlet;
  }

  #origin(): Origin {
    this.#requests += 1;
    return { requestId: String(this.#requests) };
  }

  get #endpoint(): Endpoint {
    const { server, profile } = this.#options;
    const { clients, servers } = this.#gateway.mcp;
    if (profile !== undefined) return { profile: clients.profiles.get(profile) };
    return { server: server === undefined ? undefined : servers.require(server) };
  }
}
