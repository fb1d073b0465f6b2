// Keeps shared connections open for subscribers without a private connection, because no client call opens
// the connection or notices its loss. While the server accepts calls, each protocol era (sessions, stateless
// requests) with subscribers has a connection. A lost connection is reopened with a backoff. If the pool of
// connections is full, the subscribers are notified of the loss, and the gateway retries later for
// subscribers that stay.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';

export interface SubscriberConnectionsOptions {
  /** Returns true if this era has subscribers but no connection. */
  isMissing(era: Era): boolean;
  /** Opens a connection. Throws a GatewayError if the pool is full. */
  open(era: Era): void;
  /** Called if the pool is full: the subscribers of this era have no connection for now. */
  onUnavailable(era: Era, error: GatewayError): void;
}

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** Uptime after which the backoff is reset. */
const STEADY_MS = 5_000;

export class SubscriberConnections {
  readonly #options: SubscriberConnectionsOptions;
  #pauseMs = MIN_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SubscriberConnectionsOptions) {
    this.#options = options;
  }

  /** Opens the missing connections, unless a backoff is running. */
  ensureOpen(): void {
    if (this.#timer === undefined) this.#openMissing();
  }

  /**
   * Called when a connection was lost or did not open: reopens it later. `uptimeMs` is 0 if it never
   * opened.
   */
  onLost(uptimeMs: number): void {
    if (uptimeMs > STEADY_MS) this.#pauseMs = MIN_PAUSE_MS;
    if (this.#timer === undefined) this.#openLater();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pauseMs = MIN_PAUSE_MS;
  }

  #openMissing(): void {
    for (const era of ['legacy', 'modern'] as const) {
      if (!this.#options.isMissing(era)) continue;
      try {
        this.#options.open(era);
      } catch (error) {
        this.#options.onUnavailable(era, error as GatewayError);
        if (this.#timer === undefined) this.#openLater();
      }
    }
  }

  #openLater(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#openMissing();
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
  }
}
