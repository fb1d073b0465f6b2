// Keeps a shared connection open for subscribers that have none of their own. No call of a client need ever open it, or
// notice when it is lost, so that this is seen to here.
//
// When every place is taken the subscribers are told; those who stay are served when a place is free.
//
// SU1  while the gate is open, a connection of each era is opened in which somebody wants to hear and there is none.
// SU2  one that was lost is opened again after a pause, which grows while they do not last.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { Era } from '../../jsonrpc/modern-meta.ts';

export interface SubscriberConnectionsOptions {
  /** Somebody wants to hear in this era, and there is no connection for it. */
  isMissing(era: Era): boolean;
  /** Opens one; throws a GatewayError when there is no place for it. */
  open(era: Era): void;
  /** They hear nothing for now. */
  onDeaf(era: Era, error: GatewayError): void;
}

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
/** A connection that stood this long was no try in vain. */
const STEADY_MS = 5_000;

export class SubscriberConnections {
  readonly #options: SubscriberConnectionsOptions;
  #pauseMs = MIN_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SubscriberConnectionsOptions) {
    this.#options = options;
  }

  /** Opens what is missing, unless that has to wait for the end of a pause. */
  tend(): void {
    if (this.#timer === undefined) this.#tend();
  }

  /** A connection is lost that stood for so many milliseconds, 0 when it was never open. */
  lost(stoodMs: number): void {
    if (stoodMs > STEADY_MS) this.#pauseMs = MIN_PAUSE_MS;
    if (this.#timer === undefined) this.#tendLater();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pauseMs = MIN_PAUSE_MS;
  }

  #tend(): void {
    for (const era of ['legacy', 'modern'] as const) {
      if (!this.#options.isMissing(era)) continue;
      try {
        this.#options.open(era);
      } catch (error) {
        this.#options.onDeaf(era, error as GatewayError);
        if (this.#timer === undefined) this.#tendLater();
      }
    }
  }

  #tendLater(): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#tend();
    }, this.#pauseMs).unref();
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
  }
}
