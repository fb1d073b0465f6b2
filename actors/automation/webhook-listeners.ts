// Which webhook is at which path of which listener: the gateway's own, or one that a trigger asked for. A listener of its
// own is opened with the first webhook on its address and closed with the last.
//
// WL1  a path of a listener has one webhook; a second one is refused, not put in its place, unless nobody is behind the
//      first any more.

import type { Webhook } from '../sources/webhook.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Opens a listener whose requests go to the webhook that `at` finds; gives the way to close it. */
export type OpenListener = (
  address: Address,
  at: (path: string) => Webhook | undefined,
) => Promise<() => Promise<void>>;

interface OwnListener {
  readonly paths: Map<string, Webhook>;
  readonly opened: Promise<() => Promise<void>>;
}

export class WebhookListeners {
  readonly #openListener: OpenListener;
  readonly #main = new Map<string, Webhook>();
  readonly #own = new Map<string, OwnListener>();

  constructor(openListener: OpenListener) {
    this.#openListener = openListener;
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
    const leave = async () => {
      await release();
      if (own.paths.size > 0 || this.#own.get(name) !== own) return;
      this.#own.delete(name);
      await (await own.opened)();
    };
    try {
      await own.opened;
      return leave;
    } catch (error) {
      await release();
      if (this.#own.get(name) === own) this.#own.delete(name);
      throw error;
    }
  }

  #open(name: string, address: Address): OwnListener {
    const paths = new Map<string, Webhook>();
    const own = { paths, opened: this.#openListener(address, (path) => paths.get(path)) };
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
