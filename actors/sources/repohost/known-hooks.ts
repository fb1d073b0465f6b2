// Hooks of the host that have brought authentic events, as its headers name them: where a file names no repository, or a whole
// organisation sends, these are what can be asked for deliveries that failed. Kept in the store, while they send.
//
// KH1  what a hook is noted for is the name by which the store knows its events: the token of another team never asks for it.
// KH2  a hook is written down once in a process; noting delays no event, and its failure is none of the event.

import type { Store } from '../../store/store.ts';
import type { WebhookRequest } from '../webhook.ts';

export interface KnownHook {
  /** Of the API, without a slash at the end: `/repos/acme/shop/hooks/12`. */
  readonly path: string;
  /** Whose it is: `acme/shop`, or an organisation. */
  readonly owner: string;
}

const SPACE = 'repohost-hooks';
/** The host keeps deliveries for three days; one that has been silent for so long has nothing to tell. */
const KEPT_MS = 30 * 86_400_000;
const MAX_NOTED = 1_000;
const MAX_ASKED = 50;

export class KnownHooks {
  readonly #noted = new Set<string>();

  /** `repository` is that of the event; `verifiedFor` stands in its id. Returns at once. */
  note(
    store: Pick<Store, 'put'>,
    verifiedFor: string,
    { headers }: Pick<WebhookRequest, 'headers'>,
    repository: string,
  ): void {
    const id = headers['x-github-hook-id'] ?? '';
    const key = `${verifiedFor}/${id}`;
    if (this.#noted.has(key) || this.#noted.size >= MAX_NOTED || !/^\d{1,20}$/.test(id)) return;
    const hook = hookOf(id, headers['x-github-hook-installation-target-type'], repository);
    if (hook === undefined) return;
    this.#noted.add(key);
    store.put(SPACE, key, JSON.stringify(hook), { ttlMs: KEPT_MS }).catch(() => this.#noted.delete(key));
  }

  /** Rejects as the store does. */
  async of(store: Pick<Store, 'get' | 'keys'>, verifiedFor: string): Promise<readonly KnownHook[]> {
    const keys = (await store.keys(SPACE)).filter((key) => key.startsWith(`${verifiedFor}/`));
    const found = await Promise.all(keys.slice(0, MAX_ASKED).map((key) => store.get(SPACE, key)));
    return found.flatMap((kept) => (kept === undefined ? [] : [JSON.parse(kept.value) as KnownHook]));
  }
}

/** Hooks of an installed app are asked for in another way, with another credential. */
function hookOf(id: string, kind: string | undefined, repository: string): KnownHook | undefined {
  const [owner = '', name = ''] = repository.split('/').map(encodeURIComponent);
  if (kind === 'repository')
    return name === '' ? undefined : { path: `/repos/${owner}/${name}/hooks/${id}`, owner: repository };
  return kind === 'organization' ? { path: `/orgs/${owner}/hooks/${id}`, owner } : undefined;
}
