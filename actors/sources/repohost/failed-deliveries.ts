// Asks the host for the deliveries that failed while nobody was here, since it repeats none by itself, of the last three days (it
// keeps no more): of the repositories that are named without wildcards, for the hooks that lead to our path, and of the hooks that
// have sent something (known-hooks.ts).
//
// FD1  it runs in the background, within bounds, and whatever goes wrong is a line in the log. Where the host takes no more
//      for now it comes again, since comments go before.
// FD2  what is in the store already is not asked for, unless it is dead there; what comes twice the store knows.
// FD3  each failed attempt of the host is asked for once, whatever number of triggers would have it.

import { setTimeout } from 'node:timers/promises';
import type { RepoHostTrigger } from '../../../config/resources/triggers/trigger.ts';
import { forgetOldest } from '../../forget-oldest.ts';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import { memberOf, textMember } from '../payload-member.ts';
import { nextPage } from '../repositories/next-page.ts';
import { repoEventId } from '../repositories/repo-event.ts';
import { handlesRepository } from '../repositories/repo-filter.ts';
import type { Recovery } from '../repositories/repo-host.ts';
import type { KnownHooks } from './known-hooks.ts';
import type { RepoHostApi } from './repohost-api.ts';
import { repoHostEvents } from './repohost-facts.ts';

const KEPT_MS = 3 * 86_400_000;
const MAX_REPOSITORIES = 50;
const MAX_PAGES = 10;
const MAX_ASKED = 200;
const MAX_REMEMBERED = 10_000;
const MAX_PUT_OFF = 50;
const LONGEST_PAUSE_MS = 3_600_000;

interface Asking extends Recovery<RepoHostTrigger, RepoHostApi> {
  readonly asked: AskedFor;
  readonly hooks: KnownHooks;
}

/** Attempts that were asked for. The next attempt at the same delivery has an id of its own. */
export class AskedFor {
  readonly #names = new Set<string>();

  /** False for one that was there. */
  add(name: string): boolean {
    if (this.#names.has(name)) return false;
    this.#names.add(name);
    forgetOldest(this.#names, MAX_REMEMBERED);
    return true;
  }

  delete(name: string): void {
    this.#names.delete(name);
  }
}

/** Never rejects; ends early when `signal` is aborted. */
export async function askForFailed(asking: Asking): Promise<void> {
  const { trigger, signal } = asking;
  const named = trigger.config.repositories.filter((name) => /^[\w.-]+\/[\w.-]+$/.test(name));
  for (const repository of named.slice(0, MAX_REPOSITORIES)) {
    if (signal.aborted) return;
    await told(repository, asking, () => askForFailedOf(repository, asking));
  }
  if (signal.aborted) return;
  const known = await asking.hooks.of(asking.host.store, asking.alike).catch(() => []);
  const isNamed = (owner: string) => named.some((name) => name.toLowerCase() === owner.toLowerCase());
  for (const { path, owner } of known) {
    if (signal.aborted) return;
    const isWanted = !owner.includes('/') || (!isNamed(owner) && handlesRepository(trigger, owner));
    if (isWanted) await told(owner, asking, () => askForFailedBy(path, owner, asking));
  }
}

/** What came of it, in the log and for whoever looks at the trigger. */
async function told(
  repository: string,
  { trigger: { name }, host, remarks, signal }: Asking,
  ask: () => Promise<number>,
): Promise<void> {
  const where = { trigger: name, repository };
  try {
    const count = await ask();
    if (count === 0) return;
    host.log.info({ ...where, count }, 'failed deliveries were asked for again');
    remarks.add(name, `${count} failed deliveries of ${repository} were asked for again`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (signal.aborted) return;
    host.log.warn({ ...where, reason }, 'failed deliveries cannot be asked for again');
    remarks.add(name, `failed deliveries of ${repository} cannot be asked for again: ${reason}`);
  }
}

async function askForFailedOf(repository: string, asking: Asking): Promise<number> {
  const { api, trigger, signal } = asking;
  const path = `/repos/${repository}/hooks`;
  const { data } = await inTurn(signal, () =>
    api.rest.read(`${path}?per_page=100`, `the hooks of ${repository}`, signal),
  );
  let count = 0;
  for (const hook of Array.isArray(data) ? data : []) {
    if (!leadsTo(trigger.config.path, textMember(hook, 'config.url'))) continue;
    count += await askForFailedBy(
      `${path}/${String(memberOf(hook, 'id'))}`,
      repository,
      asking,
      MAX_ASKED - count,
    );
  }
  return count;
}

/** By one hook, no more than `most`. */
async function askForFailedBy(
  hook: string,
  repository: string,
  asking: Asking,
  most = MAX_ASKED,
): Promise<number> {
  const { api, trigger, asked, signal } = asking;
  const deliveries = `${hook}/deliveries`;
  let count = 0;
  for (const id of await failedOf(deliveries, repository, asking)) {
    if (count >= most) return count;
    const attempts = `${deliveries}/${id}/attempts`;
    const name = `${trigger.config.api_url} ${attempts}`;
    if (!asked.add(name)) continue;
    const what = `another attempt at a delivery of ${repository}`;
    try {
      await inTurn(signal, () => api.rest.write(attempts, {}, what, signal));
    } catch (error) {
      asked.delete(name);
      throw error;
    }
    count += 1;
  }
  return count;
}

/** What the host does not take now is asked for when it may be, so often. Rejects when the signal is aborted. */
async function inTurn<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isTooSoon || count === MAX_PUT_OFF) throw error;
      const pauseMs = Math.min(LONGEST_PAUSE_MS, error.retryAfterMs ?? LONGEST_PAUSE_MS);
      await setTimeout(pauseMs, undefined, { signal, ref: false });
    }
  }
}

/** A proxy may have put something before the path. */
function leadsTo(path: string, url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && new URL(url).pathname.endsWith(path);
}

/** Ids of the newest failed attempt of each delivery of a hook that never succeeded, the oldest delivery first. */
async function failedOf(
  path: string,
  repository: string,
  { api, verifiedFor, host, signal }: Asking,
): Promise<readonly string[]> {
  const since = Date.now() - KEPT_MS;
  const failed = new Map<string, string>();
  const settled = new Set<string>();
  let page: string | undefined = `${path}?per_page=100`;
  for (let count = 0; page !== undefined && count < MAX_PAGES; count += 1) {
    const asked = page;
    const { data, link } = await inTurn(signal, () =>
      api.rest.read(asked, `the deliveries of ${repository}`, signal),
    );
    page = nextPage(path, link);
    for (const each of Array.isArray(data) ? data : []) {
      const guid = textMember(each, 'guid');
      if (guid === undefined || !repoHostEvents.isKnown(textMember(each, 'event') ?? '')) continue;
      if (Date.parse(textMember(each, 'delivered_at') ?? '') < since) page = undefined;
      else if (isTaken(Number(memberOf(each, 'status_code')))) settled.add(guid);
      else if (!failed.has(guid)) failed.set(guid, String(memberOf(each, 'id')));
    }
  }
  const wanted: string[] = [];
  for (const [guid, id] of [...failed].reverse()) {
    if (settled.has(guid)) continue;
    const known = await host.store.delivery(repoEventId(repoHostEvents, verifiedFor, guid));
    if (known === undefined || known.state === 'dead') wanted.push(id);
  }
  return wanted;
}

/** 0 stands for a connection that failed. */
function isTaken(status: number): boolean {
  return status >= 200 && status <= 299;
}
