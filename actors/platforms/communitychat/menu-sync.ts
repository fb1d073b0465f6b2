// Synchronises the platform's command menus with the triggers. The platform limits new commands per day, so
// only changed menus are sent, detected by digest. Each process sends every menu once, because another
// process (such as `register` in a terminal) can replace it.

import { contentHash } from '../../../config/content-hash.ts';
import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Store } from '../../store/store.ts';
import type { CommunityChatApi } from './api.ts';
import { type CommunityCommand, menusOf } from './command-menu.ts';

const SPACE = 'communitychat-menus';

export class MenuSync {
  readonly #api: CommunityChatApi;
  readonly #account: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #sentDigests: Map<string, string>;

  /** `sentDigests` contains the digests of the menus that this process has sent. */
  constructor(
    api: CommunityChatApi,
    account: string,
    store: Pick<Store, 'get' | 'put'>,
    sentDigests: Map<string, string>,
  ) {
    this.#api = api;
    this.#account = account;
    this.#store = store;
    this.#sentDigests = sentDigests;
  }

  /**
   * Sends the changed menus. On rejection, the previous menus remain. Sends no request if no trigger has a
   * menu.
   */
  async sync(triggers: readonly CommunityChatTrigger[], signal: AbortSignal): Promise<void> {
    const menus = menusOf(triggers);
    if (menus.size === 0) return;
    const digests = await this.#loadDigests();
    for (const [scope, commands] of menus) await this.#sendMenu(digests, scope, commands, signal);
    // Removes the menus of servers that are no longer configured.
    for (const scope of Object.keys(digests))
      if (!menus.has(scope)) await this.#sendMenu(digests, scope, [], signal);
  }

  async #sendMenu(
    digests: Record<string, string>,
    scope: string,
    commands: readonly CommunityCommand[],
    signal: AbortSignal,
  ): Promise<void> {
    const digest = contentHash([this.#api.address, commands]);
    const key = `${this.#account} ${scope}`;
    if (digests[scope] === digest && this.#sentDigests.get(key) === digest) return;
    await this.#api.putCommands(scope, commands, signal);
    if (commands.length === 0) {
      delete digests[scope];
      this.#sentDigests.delete(key);
    } else {
      digests[scope] = digest;
      this.#sentDigests.set(key, digest);
    }
    await this.#store.put(SPACE, this.#account, JSON.stringify(digests));
  }

  /** Returns the stored digests by scope. */
  async #loadDigests(): Promise<Record<string, string>> {
    const value = (await this.#store.get(SPACE, this.#account))?.value;
    return value === undefined ? {} : (JSON.parse(value) as Record<string, string>);
  }
}
