// A link to a server that runs once in the whole cluster: to a process or session of this node's own while this node holds the lease
// on it, and to the node that holds it otherwise. Which of the two is found out when it is opened.
//
// PLL1  L1 and L2 hold as for any link; its place is given back when what it links to has ended, and not before.

import {
  ConnectionLostError,
  type GatewayError,
  StoppedError,
  UpstreamProtocolError,
} from '../base/errors/errors.ts';
import type { CallId, Link, LinkEvents, Trace } from '../mcp/links/link.ts';
import type { Place, PlacedThere, ServerPlacement } from './server-placement.ts';

/** What a node answers that is asked under a lease which it does not hold (421 Misdirected Request, RFC 9110 section 15.5.20). */
export const MISDIRECTED = 421;

export interface PlacedLinkOptions {
  readonly server: string;
  /** How long it may take to find out where the server runs. */
  readonly patienceMs: number;
  readonly placement: Pick<ServerPlacement, 'place'>;
  readonly events: LinkEvents;
  makeHere(events: LinkEvents): Link;
  makeThere(events: LinkEvents, place: PlacedThere): Link;
}

export class PlacedLink implements Link {
  readonly #options: PlacedLinkOptions;
  #inner: Link | undefined;
  #place: Place | undefined;
  #state: 'open' | 'closing' | 'ended' = 'open';
  /** Overrides what the link itself says of its end. */
  #reason: GatewayError | undefined;

  constructor(options: PlacedLinkOptions) {
    this.#options = options;
  }

  get node(): string | undefined {
    return this.#place?.name;
  }

  get pid(): number | undefined {
    return this.#inner?.pid;
  }

  get stderrTail(): readonly string[] {
    return this.#inner?.stderrTail ?? [];
  }

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
    const { server, placement, events, patienceMs, makeHere, makeThere } = this.#options;
    const isGivenUp = () => this.#state !== 'open';
    try {
      const place = await placement.place(server, (reason) => this.#lose(reason), isGivenUp, patienceMs);
      this.#place = place;
      if (isGivenUp()) throw new StoppedError(`the link to server ${server} is closed`);
      const whenEnded: LinkEvents = {
        ...events,
        onUndelivered: (call, error, wasCarriedOut) => {
          const isMisdirected = error instanceof UpstreamProtocolError && error.status === MISDIRECTED;
          const isNobodyThere =
            place.there !== undefined && !wasCarriedOut && error instanceof ConnectionLostError;
          events.onUndelivered(call, this.#shown(error), wasCarriedOut && !isMisdirected);
          // Whatever comes next asks anew where it runs.
          if (isMisdirected || isNobodyThere)
            this.#lose(new ConnectionLostError(`server ${server} runs at node ${place.name} no longer`));
        },
        onEnd: (error) => this.#end(this.#reason ?? this.#shown(error)),
      };
      this.#inner = place.there === undefined ? makeHere(whenEnded) : makeThere(whenEnded, place.there);
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

  /** What runs here must have ended before another node may begin. */
  #lose(reason: GatewayError): void {
    this.#reason ??= reason;
    this.kill();
  }

  /** What clients are told says which node it is, and not where that listens. */
  #shown(error: GatewayError): GatewayError {
    const { there, name } = this.#place ?? {};
    if (there === undefined) return error;
    const node = `node ${name}, at which server ${this.#options.server} runs,`;
    if (error instanceof ConnectionLostError)
      return new ConnectionLostError(`the connection to ${node} was lost before the answer came`, {
        cause: error,
      });
    if (!(error instanceof UpstreamProtocolError)) return error;
    const { status } = error;
    const what = status === undefined ? 'sent no proper answer' : `answered ${status}`;
    return new UpstreamProtocolError(`${node} ${what}`, {
      cause: error,
      ...(status === undefined ? {} : { status }),
    });
  }

  /** May come before there is a place: whoever asked for one gives it back then. */
  #end(error: GatewayError): void {
    this.#place?.release();
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#options.events.onEnd(error);
  }
}
