// The webhooks by path and listener: the gateway's own listener, or one that a trigger asked for. A listener of its own
// is opened with the first webhook on its address and closed with the last.
//
// WL1  a path of a listener has one webhook; a second one is refused, not put in its place, unless nobody is behind the
//      first any more.
// WL2  requests under way on a listener of its own are answered; until then others on open connections hear from the
//      webhook that was taken away, which asks them to come again: 404 would be final for a sender. With the last webhook
//      the address is free at once, and with others there the path stays for a while.

import type { Webhook } from '../../platforms/webhooks/webhook.ts';
import { LINGER_MS } from '../../platforms/webhooks/webhook-table.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Stops listening before it returns; resolves when nothing is under way any more, or has been cut off after `graceMs`; never
 * rejects. To be called again by whoever has less time.
 */
export type CloseListener = (graceMs?: number) => Promise<void>;

/** Opens a listener whose requests go to the webhook that `at` finds; gives the way to close it. */
export type OpenListener = (
  address: Address,
  at: (path: string) => Webhook | undefined,
) => Promise<CloseListener>;

interface OwnListener {
  readonly paths: Map<string, Webhook>;
  readonly opened: Promise<CloseListener>;
  /** Webhooks that were not taken away. */
  users: number;
}

/** For the last answers to leave when the gateway stops; a client that takes none must not hold up the end. */
const LAST_WORDS_MS = 250;

export class WebhookListeners {
  readonly #openListener: OpenListener;
  readonly #main = new Map<string, Webhook>();
  readonly #own = new Map<string, OwnListener>();
  /** Of those that no longer listen, and have requests under way. */
  readonly #closing = new Set<CloseListener>();
  readonly #lingerMs: number;

  constructor(openListener: OpenListener, lingerMs = LINGER_MS) {
    this.#openListener = openListener;
    this.#lingerMs = lingerMs;
  }

  /** The webhook at a path of the gateway's own listener. */
  at(path: string): Webhook | undefined {
    return this.#main.get(path);
  }

  /** Rejects when the path is taken or the address cannot be listened on. Gives the way to take the webhook away. */
  async listen(webhook: Webhook, address?: Address): Promise<() => Promise<void>> {
    if (address === undefined) return claimed(this.#main, webhook);
    const name = `${address.host}:${address.port}`;
    const own = this.#own.get(name) ?? this.#open(name, address);
    const release = claimed(own.paths, webhook);
    own.users += 1;
    try {
      const close = await own.opened;
      return async () => {
        own.users -= 1;
        if (own.users > 0) {
          setTimeout(release, this.#lingerMs).unref();
          return;
        }
        this.#own.delete(name);
        void this.#close(close);
      };
    } catch (error) {
      if (this.#own.get(name) === own) this.#own.delete(name);
      throw error;
    }
  }

  /** The gateway stops: what is still under way on listeners of their own has a moment to end. */
  async end(): Promise<void> {
    await Promise.all([...this.#closing].map((close) => close(LAST_WORDS_MS)));
  }

  async #close(close: CloseListener): Promise<void> {
    this.#closing.add(close);
    await close();
    this.#closing.delete(close);
  }

  #open(name: string, address: Address): OwnListener {
    const paths = new Map<string, Webhook>();
    const own = { paths, opened: this.#openListener(address, (path) => paths.get(path)), users: 0 };
    // Everybody who asked for it waits for it; nobody else has to hear of its failure.
    own.opened.catch(() => {});
    this.#own.set(name, own);
    return own;
  }
}

function claimed(paths: Map<string, Webhook>, webhook: Webhook): () => Promise<void> {
  const before = paths.get(webhook.path);
  if (before !== undefined && before.yieldPath?.() !== true)
    throw new Error(`another trigger type has the path ${webhook.path} already`);
  paths.set(webhook.path, webhook);
  return async () => {
    if (paths.get(webhook.path) === webhook) paths.delete(webhook.path);
  };
}
