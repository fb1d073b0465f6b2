// The credentials under which interactions are answered: each lasts for 15 minutes, and whoever has one can write in the name of
// the application. So they stand in a space of the store that nobody is shown, and nowhere else: in no event, row, log or request.
//
// CCT1  a token is durable before its interaction is acknowledged, and gone when the platform takes it no more.

import type { Store } from '../../store/store.ts';

export const TOKEN_LASTS_MS = 15 * 60_000;
const SPACE = 'communitychat-tokens';

export class InteractionTokens {
  readonly #store: Pick<Store, 'get' | 'put'>;

  constructor(store: Pick<Store, 'get' | 'put'>) {
    this.#store = store;
  }

  /** One that comes again has the time that it had. Rejects as the store does. */
  async keep(account: string, interaction: string, token: string): Promise<void> {
    const options = { ttlMs: TOKEN_LASTS_MS, ifAbsent: true };
    await this.#store.put(SPACE, `${account}/${interaction}`, token, options);
  }

  /** Undefined when its time is over. Rejects as the store does. */
  async find(account: string, interaction: string): Promise<string | undefined> {
    return (await this.#store.get(SPACE, `${account}/${interaction}`))?.value;
  }
}
