// Detects a remote server's transport (MCP 2025-11-25, Transports, "Backwards Compatibility"). Sends
// `initialize` over Streamable HTTP. After status 400, 404 or 405, repeats it over the older HTTP+SSE
// transport at this address. If this fails too, reports the first refusal.

import { type GatewayError, UpstreamProtocolError } from '../../../base/errors/errors.ts';
import type { RemoteOptions } from '../http/remote-session.ts';
import type { CallId, Link, LinkEvents, Trace } from '../link.ts';
import { HttpLink } from '../streamable-http/http-link.ts';
import { SseLink } from './sse-link.ts';

/** Statuses of servers that do not know Streamable HTTP. */
const refusals = new Set([400, 404, 405]);

/** Detection result, shared by a server's links. */
export interface DetectedTransport {
  /** True if the server knows only the older HTTP+SSE transport. */
  isOlder: boolean;
}

export class DetectingLink implements Link {
  readonly pid = undefined;
  readonly stderrTail: readonly string[] = [];
  readonly #options: RemoteOptions;
  readonly #transport: DetectedTransport;
  #link: HttpLink | SseLink;
  /** First request, whose response decides the transport; undefined once the transport is decided. */
  #first: { readonly bytes: Buffer; readonly call: CallId; readonly trace: Trace | undefined } | undefined;
  /** Link of the older transport while it opens. */
  #candidate: SseLink | undefined;
  #isDecided: boolean;

  constructor(options: RemoteOptions, transport: DetectedTransport) {
    this.#options = options;
    this.#transport = transport;
    this.#isDecided = transport.isOlder;
    const Transport = transport.isOlder ? SseLink : HttpLink;
    const link: HttpLink | SseLink = new Transport({ ...options, events: this.#eventsOf(() => link) });
    this.#link = link;
  }

  get isOver(): boolean {
    return this.#link.isOver;
  }

  get queuedBytes(): number {
    return this.#link.queuedBytes;
  }

  async open(): Promise<void> {
    try {
      await this.#link.open();
    } catch (error) {
      // The server may have changed its transport.
      this.#transport.isOlder = false;
      throw error;
    }
  }

  send(bytes: Buffer, call?: CallId, trace?: Trace): void {
    if (!this.#isDecided && call !== undefined) this.#first ??= { bytes, call, trace };
    this.#link.send(bytes, call, trace);
  }

  forget(call: CallId): void {
    if (this.#first?.call === call) this.#decide();
    this.#link.forget(call);
  }

  ready(protocolVersion: string): void {
    this.#decide();
    this.#link.ready(protocolVersion);
  }

  close(): Promise<void> {
    this.#decide();
    return this.#link.close();
  }

  kill(): void {
    this.#decide();
    this.#link.kill();
  }

  /** Ends the detection with the current link. */
  #decide(): void {
    this.#isDecided = true;
    this.#first = undefined;
    this.#candidate?.kill();
    this.#candidate = undefined;
  }

  /**
   * Returns the events for a link. `onEnd` is reported only while `link` is in use. `link` is a function,
   * because the events are needed to create the link.
   */
  #eventsOf(link: () => Link): LinkEvents {
    const { events } = this.#options;
    return {
      onMessage: (bytes, call) => events.onMessage(bytes, call),
      onOversized: (size, id, requestId, call) => events.onOversized(size, id, requestId, call),
      onUndelivered: (call, error, mayHaveRun) => {
        if (this.#first?.call === call && isRefusal(error)) this.#tryOlder(error);
        else events.onUndelivered(call, error, mayHaveRun);
      },
      onEnd: (error) => {
        if (this.#link !== link()) return;
        this.#decide();
        events.onEnd(error);
      },
    };
  }

  #tryOlder(refusal: GatewayError): void {
    const first = this.#first;
    const older: SseLink = new SseLink({ ...this.#options, events: this.#eventsOf(() => older) });
    this.#candidate = older;
    older.open().then(
      () => {
        if (this.#candidate !== older || first === undefined) return;
        const previous = this.#link;
        this.#link = older;
        this.#candidate = undefined;
        this.#decide();
        this.#transport.isOlder = true;
        previous.kill();
        older.send(first.bytes, first.call, first.trace);
      },
      () => {
        if (this.#candidate !== older || first === undefined) return;
        this.#candidate = undefined;
        this.#decide();
        // The server did not execute the request, because it refused the transport.
        this.#options.events.onUndelivered(first.call, refusal, false);
      },
    );
  }
}

function isRefusal(error: GatewayError): boolean {
  return error instanceof UpstreamProtocolError && refusals.has(error.status ?? 0);
}
