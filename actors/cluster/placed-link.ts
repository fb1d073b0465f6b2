// Link to a server that runs on a single node of the cluster (`placement: cluster`). `open` finds the node:
// if this node holds the server's lease, the inner link is local; otherwise it leads to the node that holds
// the lease. The placement is released only when the inner link is closed.

import {
  ConnectionLostError,
  type GatewayError,
  StoppedError,
  UpstreamProtocolError,
} from '../base/errors/errors.ts';
import type { CallId, Link, LinkEvents, Trace } from '../mcp/links/link.ts';
import { NodeLostError, PeerRefusedError } from './node-errors.ts';
import type { Placement, RemotePlacement, ServerPlacement } from './server-placement.ts';

/**
 * Response status of a node that does not hold the requested lease (421 Misdirected Request, RFC 9110 section
 * 15.5.20).
 */
export const MISDIRECTED = 421;
/** Lowest status of failures of the node. Failures of the server are JSON-RPC errors, with status 200. */
const NODE_FAILURE = 500;

export interface PlacedLinkOptions {
  readonly server: string;
  /** Maximum time to find the node of the server. */
  readonly patienceMs: number;
  readonly placement: Pick<ServerPlacement, 'place'>;
  readonly events: LinkEvents;
  makeLocal(events: LinkEvents): Link;
  makeRemote(events: LinkEvents, target: RemotePlacement): Link;
}

export class PlacedLink implements Link {
  readonly #options: PlacedLinkOptions;
  #inner: Link | undefined;
  #placement: Placement | undefined;
  #state: 'open' | 'closing' | 'ended' = 'open';
  /** Reason to report instead of the close reason of the inner link. */
  #reason: GatewayError | undefined;

  constructor(options: PlacedLinkOptions) {
    this.#options = options;
  }

  get node(): string | undefined {
    return this.#placement?.name;
  }

  get pid(): number | undefined {
    return this.#inner?.pid;
  }

  get stderrTail(): readonly string[] {
    return this.#inner?.stderrTail ?? [];
  }

  get advice(): string | undefined {
    return this.#inner?.advice;
  }

  /** Number of stdout lines that were no MCP messages. */
  get noiseLines(): number {
    return this.#inner?.noiseLines ?? 0;
  }

  get isOver(): boolean {
    return this.#state !== 'open' || this.#inner?.isOver === true;
  }

  get queuedBytes(): number {
    return this.#inner?.queuedBytes ?? 0;
  }

  async open(): Promise<void> {
    const { server, placement, events, patienceMs, makeLocal, makeRemote } = this.#options;
    const isCancelled = () => this.#state !== 'open';
    try {
      const target = await placement.place(
        server,
        (reason) => this.#abandon(reason),
        isCancelled,
        patienceMs,
      );
      this.#placement = target;
      if (isCancelled()) throw new StoppedError(`the link to server ${server} was closed`);
      const innerEvents: LinkEvents = {
        ...events,
        onUndelivered: (call, error, mayHaveRun) => {
          const isMisdirected = error instanceof UpstreamProtocolError && error.status === MISDIRECTED;
          const isUnreachable =
            target.remote !== undefined && !mayHaveRun && error instanceof ConnectionLostError;
          events.onUndelivered(call, this.#withNode(error), mayHaveRun && !isMisdirected);
          // The next link looks up the node again.
          if (isMisdirected || isUnreachable)
            this.#abandon(new NodeLostError(`server ${server} no longer runs on node ${target.name}`));
        },
        onEnd: (error) => this.#end(this.#reason ?? this.#withNode(error)),
      };
      this.#inner =
        target.remote === undefined ? makeLocal(innerEvents) : makeRemote(innerEvents, target.remote);
    } catch (error) {
      this.#end(error as GatewayError);
      throw error;
    }
    await this.#inner.open();
  }

  send(bytes: Buffer, call?: CallId, trace?: Trace): void {
    if (this.#inner !== undefined) this.#inner.send(bytes, call, trace);
    else if (call !== undefined)
      queueMicrotask(() =>
        this.#options.events.onUndelivered(call, new StoppedError('the link is not open'), false),
      );
  }

  notePing(): void {
    this.#inner?.notePing?.();
  }

  forget(call: CallId): void {
    this.#inner?.forget(call);
  }

  ready(protocolVersion: string): void {
    this.#inner?.ready(protocolVersion);
  }

  async close(): Promise<void> {
    if (this.#state === 'open') this.#state = 'closing';
    if (this.#inner !== undefined) await this.#inner.close();
    else this.#end(new StoppedError(`the link to server ${this.#options.server} was closed`));
  }

  kill(): void {
    if (this.#state === 'open') this.#state = 'closing';
    if (this.#inner !== undefined) this.#inner.kill();
    else this.#end(new StoppedError(`the link to server ${this.#options.server} was ended`));
  }

  /** Closes the link with this reason. Kills a local server, which must stop before other nodes start it. */
  #abandon(reason: GatewayError): void {
    this.#reason ??= reason;
    this.kill();
  }

  /** Adds the node name, but not the address, to errors for clients. */
  #withNode(error: GatewayError): GatewayError {
    const { remote, name } = this.#placement ?? {};
    if (remote === undefined) return error;
    const node = `node ${name}, which runs server ${this.#options.server},`;
    if (error instanceof ConnectionLostError)
      return new NodeLostError(`the connection to ${node} was lost before the response arrived`, {
        cause: error,
      });
    if (!(error instanceof UpstreamProtocolError)) return error;
    const { status } = error;
    const problem = status === undefined ? 'sent an invalid response' : `responded with status ${status}`;
    const isRefused = status !== undefined && (status >= NODE_FAILURE || status === MISDIRECTED);
    const ErrorClass = isRefused ? PeerRefusedError : UpstreamProtocolError;
    return new ErrorClass(`${node} ${problem}`, {
      cause: error,
      ...(status === undefined ? {} : { status }),
    });
  }

  /** Releases the placement, if there is one, and reports the end once. */
  #end(error: GatewayError): void {
    this.#placement?.release();
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#options.events.onEnd(error);
  }
}
