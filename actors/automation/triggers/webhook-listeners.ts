// Webhooks by listener and path: the listener of the gateway, or a separate listener at an address from the
// trigger, which opens with the first webhook of this address and closes with the last one. A path has one
// webhook; a second webhook is rejected unless the first one releases the path. Requests running on a removed
// webhook may finish. Later requests get a temporary error from the removed webhook, because senders treat
// 404 as final: the path is kept for a while, and a closing listener serves its open connections.

import type { Webhook } from '../../platforms/webhooks/webhook.ts';
import { LINGER_MS } from '../../platforms/webhooks/webhook-table.ts';

export interface ListenerAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Stops listening immediately; resolves when all requests have finished or were aborted after `graceMs`.
 * Never rejects. Can be called again with a shorter grace period.
 */
export type CloseListener = (graceMs?: number) => Promise<void>;

/** Opens a listener that dispatches requests to the webhook returned by `at`; returns the close function. */
export type OpenListener = (
  address: ListenerAddress,
  at: (path: string) => Webhook | undefined,
) => Promise<CloseListener>;

interface SeparateListener {
  readonly paths: Map<string, Webhook>;
  readonly opened: Promise<CloseListener>;
  /** Number of webhooks that are not removed. */
  users: number;
}

/** Time for the last responses at shutdown; a slow client must not delay it. */
const SHUTDOWN_GRACE_MS = 250;

export class WebhookListeners {
  readonly #openListener: OpenListener;
  /** Webhooks at the listener of the gateway, by path. */
  readonly #main = new Map<string, Webhook>();
  /** Separate listeners, by `HOST:PORT`. */
  readonly #separate = new Map<string, SeparateListener>();
  /** Stopped listeners with running requests. */
  readonly #closing = new Set<CloseListener>();
  readonly #lingerMs: number;

  constructor(openListener: OpenListener, lingerMs = LINGER_MS) {
    this.#openListener = openListener;
    this.#lingerMs = lingerMs;
  }

  /** Returns a webhook at the listener of the gateway, by path. */
  at(path: string): Webhook | undefined {
    return this.#main.get(path);
  }

  /** Rejects for used paths and unavailable addresses. Returns a function that removes the webhook. */
  async listen(webhook: Webhook, address?: ListenerAddress): Promise<() => Promise<void>> {
    // Webhooks of adapters delay this release themselves (platforms/webhooks/webhook-table.ts).
    if (address === undefined) return claimPath(this.#main, webhook);
    const name = `${address.host}:${address.port}`;
    const listener = this.#separate.get(name) ?? this.#open(name, address);
    const release = claimPath(listener.paths, webhook);
    listener.users += 1;
    try {
      const close = await listener.opened;
      return async () => {
        listener.users -= 1;
        if (listener.users > 0) {
          setTimeout(release, this.#lingerMs).unref();
          return;
        }
        this.#separate.delete(name);
        void this.#close(close);
      };
    } catch (error) {
      if (this.#separate.get(name) === listener) this.#separate.delete(name);
      throw error;
    }
  }

  /** Stops the listeners, with a short grace period for running requests. */
  async end(): Promise<void> {
    await Promise.all([...this.#closing].map((close) => close(SHUTDOWN_GRACE_MS)));
  }

  async #close(close: CloseListener): Promise<void> {
    this.#closing.add(close);
    await close();
    this.#closing.delete(close);
  }

  #open(name: string, address: ListenerAddress): SeparateListener {
    const paths = new Map<string, Webhook>();
    const listener = { paths, opened: this.#openListener(address, (path) => paths.get(path)), users: 0 };
    // All callers await it; this prevents an unhandled rejection.
    listener.opened.catch(() => {});
    this.#separate.set(name, listener);
    return listener;
  }
}

function claimPath(paths: Map<string, Webhook>, webhook: Webhook): () => Promise<void> {
  const before = paths.get(webhook.path);
  // Triggers of one type share a webhook per path, so a second webhook belongs to another type.
  if (before !== undefined && before.releasePath?.() !== true)
    throw new Error(`path ${webhook.path} is already used by another trigger type`);
  paths.set(webhook.path, webhook);
  return async () => {
    if (paths.get(webhook.path) === webhook) paths.delete(webhook.path);
  };
}
