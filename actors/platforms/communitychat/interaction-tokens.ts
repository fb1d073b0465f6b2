// Stores the tokens that replies to interactions need. A token is valid for 15 minutes, and allows messages
// in the name of the application. Tokens are only in a separate space of the store, never in events, outbox
// rows or logs.
//
// A token is durable before its interaction is acknowledged, and expires when the platform no longer accepts
// it.

import type { Store } from '../../store/store.ts';

export const TOKEN_LASTS_MS = 15 * 60_000;
const SPACE = 'communitychat-tokens';

export class InteractionTokens {
  readonly #store: Pick<Store, 'get' | 'put'>;

  constructor(store: Pick<Store, 'get' | 'put'>) {
    this.#store = store;
  }

  /** Stores a token. A redelivered token keeps its first expiry. Rejects if the store does. */
  async save(account: string, interaction: string, token: string): Promise<void> {
    const options = { ttlMs: TOKEN_LASTS_MS, ifAbsent: true };
    await this.#store.put(SPACE, `${account}/${interaction}`, token, options);
  }

  /** Returns the token; undefined if it has expired. Rejects if the store does. */
  async find(account: string, interaction: string): Promise<string | undefined> {
    return (await this.#store.get(SPACE, `${account}/${interaction}`))?.value;
  }
}
