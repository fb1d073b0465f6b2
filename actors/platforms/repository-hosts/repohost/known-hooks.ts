// Hooks of the host that have brought authentic events, as its headers name them: where a file names no repository, or a whole
// organisation sends, these are what can be asked for deliveries that failed. Kept in the store, while they send.
//
// KH1  what a hook is noted for is the name by which the store knows its events: the token of another team never asks for it.
// KH2  a hook is written down when it first sends, and again once a day as long as it does, so that its time does not run out and
//      one that sends no more makes room for a new one; noting delays no event, and its failure is none of the event.
// KH3  where several triggers take the same signatures, hooks noted for any of them are known to each: which of them stands first
//      may change with the files.

import { path } from '../../../../libs/rest/path.ts';
import { steadyNow } from '../../../base/time/steady-clock.ts';
import type { Store } from '../../../store/store.ts';
import type { WebhookRequest } from '../../webhooks/webhook.ts';
import type { KnownHook } from '../failed-deliveries.ts';

const SPACE = 'repohost-hooks';
/** The host keeps deliveries for three days; one that has been silent for so long has nothing to tell. */
const KEPT_MS = 30 * 86_400_000;
const NOTED_EVERY_MS = 86_400_000;
const MAX_NOTED = 1_000;
const MAX_ASKED = 50;

export class KnownHooks {
  /** When each was written down last, the oldest first. */
  readonly #noted = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = steadyNow) {
    this.#now = now;
  }

  /** `repository` is that of the event; `verifiedFor` stands in its id. Returns at once. */
  note(
    store: Pick<Store, 'put'>,
    verifiedFor: string,
    { headers }: Pick<WebhookRequest, 'headers'>,
    repository: string,
  ): void {
    const id = headers['x-github-hook-id'] ?? '';
    const key = `${verifiedFor}/${id}`;
    this.#forgetOld();
    if (this.#noted.has(key) || this.#noted.size >= MAX_NOTED || !/^\d{1,20}$/.test(id)) return;
    const hook = hookOf(id, headers['x-github-hook-installation-target-type'], repository);
    if (hook === undefined) return;
    this.#noted.set(key, this.#now());
    store.put(SPACE, key, JSON.stringify(hook), { ttlMs: KEPT_MS }).catch(() => this.#noted.delete(key));
  }

  /** Those noted for any of these names, each once. Rejects as the store does. */
  async of(
    store: Pick<Store, 'get' | 'keys'>,
    verifiedFor: readonly string[],
  ): Promise<readonly KnownHook[]> {
    const all = await store.keys(SPACE);
    const keys = all.filter((key) => verifiedFor.some((name) => key.startsWith(`${name}/`)));
    const byId = new Map(keys.map((key) => [key.slice(key.lastIndexOf('/')), key]));
    const asked = [...byId.values()].slice(0, MAX_ASKED);
    const found = await Promise.all(asked.map((key) => store.get(SPACE, key)));
    return found.flatMap((kept) => (kept === undefined ? [] : [JSON.parse(kept.value) as KnownHook]));
  }

  #forgetOld(): void {
    const since = this.#now() - NOTED_EVERY_MS;
    for (const [key, at] of this.#noted) {
      if (at > since) return;
      this.#noted.delete(key);
    }
  }
}

/** Hooks of an installed app are asked for in another way, with another credential. */
function hookOf(id: string, kind: string | undefined, repository: string): KnownHook | undefined {
  const [owner = '', name = ''] = repository.split('/');
  if (kind === 'repository')
    return name === '' ? undefined : { path: path`/repos/${owner}/${name}/hooks/${id}`, owner: repository };
  return kind === 'organization' ? { path: path`/orgs/${owner}/hooks/${id}`, owner } : undefined;
}
