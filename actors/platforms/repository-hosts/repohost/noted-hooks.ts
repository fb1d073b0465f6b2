// Notes the hooks that sent verified events, from the host's headers. Failed deliveries can then be requested
// even if a trigger's file names no repository, or the hook belongs to an organisation. Notes expire.
//
// A hook is stored under the trigger name in its event ids, so that the tokens of other triggers never query
// it. It is stored at its first event, and renewed once a day while it sends. Storing neither delays events
// nor fails them. Triggers that accept the same signatures share their hooks, because their order may change
// with the files.

import { path } from '../../../../libs/rest/path.ts';
import { monotonicNow } from '../../../base/time/monotonic-clock.ts';
import type { Store } from '../../../store/store.ts';
import type { WebhookRequest } from '../../webhooks/webhook.ts';
import type { NotedHook } from '../failed-deliveries.ts';

const SPACE = 'repohost-hooks';
/** Expiry of a hook that sends nothing. The host keeps deliveries for three days. */
const RETENTION_MS = 30 * 86_400_000;
const NOTED_EVERY_MS = 86_400_000;
const MAX_NOTED = 1_000;
const MAX_QUERIED = 50;

export class NotedHooks {
  /** Last write time per hook, oldest first. */
  readonly #noted = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = monotonicNow) {
    this.#now = now;
  }

  /**
   * Notes the hook of an event. `repository` is the event's repository; `verifiedFor` is the trigger in its
   * id. Does not block on the store.
   */
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
    store.put(SPACE, key, JSON.stringify(hook), { ttlMs: RETENTION_MS }).catch(() => this.#noted.delete(key));
  }

  /** Returns the hooks noted for any of these triggers, without duplicates. Rejects if the store fails. */
  async of(
    store: Pick<Store, 'get' | 'keys'>,
    verifiedFor: readonly string[],
  ): Promise<readonly NotedHook[]> {
    const all = await store.keys(SPACE);
    const keys = all.filter((key) => verifiedFor.some((name) => key.startsWith(`${name}/`)));
    const byId = new Map(keys.map((key) => [key.slice(key.lastIndexOf('/')), key]));
    const newest = [...byId.values()].slice(0, MAX_QUERIED);
    const rows = await Promise.all(newest.map((key) => store.get(SPACE, key)));
    return rows.flatMap((row) => (row === undefined ? [] : [JSON.parse(row.value) as NotedHook]));
  }

  #forgetOld(): void {
    const since = this.#now() - NOTED_EVERY_MS;
    for (const [key, at] of this.#noted) {
      if (at > since) return;
      this.#noted.delete(key);
    }
  }
}

/** Returns the hook; undefined for a hook of an installed app, which needs another API and credential. */
function hookOf(id: string, kind: string | undefined, repository: string): NotedHook | undefined {
  const [owner = '', name = ''] = repository.split('/');
  if (kind === 'repository')
    return name === '' ? undefined : { path: path`/repos/${owner}/${name}/hooks/${id}`, owner: repository };
  return kind === 'organization' ? { path: path`/orgs/${owner}/hooks/${id}`, owner } : undefined;
}
