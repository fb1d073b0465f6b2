// Keeps the commands that the platform shows in step with the files. The platform takes few new commands a day, so it is asked only
// where a menu differs from the one that was put last, by whichever process: what that said is in the store, as a digest. Once in
// its life each process puts a menu all the same, since others, as `register` in a terminal, may have put theirs meanwhile.

import { contentHash } from '../../../config/content-hash.ts';
import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Store } from '../../store/store.ts';
import type { CommunityChatApi } from './api.ts';
import { type CommunityCommand, menusOf } from './command-menu.ts';

const SPACE = 'communitychat-menus';

export class MenuKeeper {
  readonly #api: CommunityChatApi;
  readonly #account: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #put: Map<string, string>;

  /** `put` holds the digests that this process has put. */
  constructor(
    api: CommunityChatApi,
    account: string,
    store: Pick<Store, 'get' | 'put'>,
    put: Map<string, string>,
  ) {
    this.#api = api;
    this.#account = account;
    this.#store = store;
    this.#put = put;
  }

  /** Rejects as the platform or the store does; what was put until then is kept. Where nothing is to be registered nothing is asked. */
  async show(triggers: readonly CommunityChatTrigger[], signal: AbortSignal): Promise<void> {
    const menus = menusOf(triggers);
    if (menus.size === 0) return;
    const shown = await this.#shown();
    for (const [scope, commands] of menus) await this.#show(shown, scope, commands, signal);
    // Of servers that are named no more.
    for (const scope of Object.keys(shown)) if (!menus.has(scope)) await this.#show(shown, scope, [], signal);
  }

  async #show(
    shown: Record<string, string>,
    scope: string,
    commands: readonly CommunityCommand[],
    signal: AbortSignal,
  ): Promise<void> {
    const digest = contentHash([this.#api.address, commands]);
    const key = `${this.#account} ${scope}`;
    if (shown[scope] === digest && this.#put.get(key) === digest) return;
    await this.#api.putCommands(scope, commands, signal);
    if (commands.length === 0) {
      delete shown[scope];
      this.#put.delete(key);
    } else {
      shown[scope] = digest;
      this.#put.set(key, digest);
    }
    await this.#store.put(SPACE, this.#account, JSON.stringify(shown));
  }

  /** Digests by scope. */
  async #shown(): Promise<Record<string, string>> {
    const value = (await this.#store.get(SPACE, this.#account))?.value;
    return value === undefined ? {} : (JSON.parse(value) as Record<string, string>);
  }
}
