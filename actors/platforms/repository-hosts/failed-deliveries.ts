// Asks a host for the deliveries that failed while nobody was here, since it repeats none by itself: of the repositories that are
// named without wildcards, for the hooks that lead to our path, and of the hooks that are known otherwise. What a host has of its
// own for that is a HookHost.
//
// FD1  it runs in the background, within bounds, and whatever goes wrong is a line in the log. Where the host takes no more
//      for now it comes again, since comments go before.
// FD2  what is in the store already is not asked for, unless it is dead there; what comes twice the store knows.
// FD3  each failed attempt of the host is asked for once, whatever number of triggers would have it.
// A hook that the host has switched off is told of, and switched on again where that can be asked for, before what failed is:
// what happens meanwhile is not even tried.

import { setTimeout } from 'node:timers/promises';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { repoEventId } from './event.ts';
import type { RepoEvents } from './facts.ts';
import { handlesRepository } from './filter.ts';
import type { Recovery, RepoApi, RepoTrigger } from './host.ts';

const MAX_REPOSITORIES = 50;
const MAX_PAGES = 10;
const MAX_ASKED = 200;
const MAX_REMEMBERED = 10_000;
const MAX_PUT_OFF = 50;
const LONGEST_PAUSE_MS = 3_600_000;

/** A hook whose deliveries the host lists. */
export interface Hook {
  /** Of the API, without a slash at the end: `/repos/acme/shop/hooks/12`. */
  readonly path: string;
  /** Where it leads to. */
  readonly url: string | undefined;
  /** Why the host sends nothing there, in words; undefined while it does. */
  readonly isOff?: string | undefined;
}

/** A hook that has sent something. */
export interface KnownHook {
  readonly path: string;
  /** Whose it is: `acme/shop`, or an organisation. */
  readonly owner: string;
}

/** What the host has tried. */
export interface Attempt {
  /** By which another one is asked for. */
  readonly id: string;
  /** What the delivery is called in the ids of events; the same for each attempt at it. */
  readonly name: string;
  readonly isTaken: boolean;
}

/** The newest first. */
export interface Attempts {
  readonly attempts: readonly Attempt[];
  /** Of the page after this one; undefined where the rest is none, or too old. */
  readonly next: string | undefined;
}

/** Hooks of one host. All reject with a DeliveryError. */
export interface HookHost<T extends RepoTrigger, Api extends RepoApi> {
  readonly events: RepoEvents;
  hooks(api: Api, repository: string, signal: AbortSignal): Promise<readonly Hook[]>;
  /** `page` is what `next` of the page before was. */
  attempts(api: Api, hook: string, page: string | undefined, signal: AbortSignal): Promise<Attempts>;
  askAgain(api: Api, hook: string, attempt: string, signal: AbortSignal): Promise<void>;
  /** Where that can be asked for without an event that an agent would hear of. */
  switchOn?(api: Api, hook: string, signal: AbortSignal): Promise<void>;
  /** Those that have sent something to the trigger. Rejects as the store does. */
  known?(recovery: Recovery<T, Api>): Promise<readonly KnownHook[]>;
}

interface Asking<T extends RepoTrigger, Api extends RepoApi> extends Recovery<T, Api> {
  readonly asked: AskedFor;
  readonly hooksOf: HookHost<T, Api>;
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
export async function askForFailed<T extends RepoTrigger, Api extends RepoApi>(
  asking: Asking<T, Api>,
): Promise<void> {
  const { trigger, hooksOf, signal } = asking;
  const named = trigger.config.repositories.filter((name) => /^[\w.-]+(\/[\w.-]+)+$/.test(name));
  for (const repository of named.slice(0, MAX_REPOSITORIES)) {
    if (signal.aborted) return;
    await told(repository, asking, () => askForFailedOf(repository, asking));
  }
  if (signal.aborted) return;
  const known = (await hooksOf.known?.(asking).catch(() => [])) ?? [];
  const isNamed = (owner: string) => named.some((name) => name.toLowerCase() === owner.toLowerCase());
  for (const { path, owner } of known) {
    if (signal.aborted) return;
    const isWanted = !owner.includes('/') || (!isNamed(owner) && handlesRepository(trigger, owner));
    if (isWanted) await told(owner, asking, () => askForFailedBy(path, asking));
  }
}

/** What came of it, in the log and for whoever looks at the trigger. */
async function told<T extends RepoTrigger, Api extends RepoApi>(
  repository: string,
  { trigger: { name }, host, remarks, signal }: Asking<T, Api>,
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

async function askForFailedOf<T extends RepoTrigger, Api extends RepoApi>(
  repository: string,
  asking: Asking<T, Api>,
): Promise<number> {
  const { api, trigger, hooksOf, signal } = asking;
  const hooks = await inTurn(signal, () => hooksOf.hooks(api, repository, signal));
  const ours = hooks.filter(({ url }) => leadsTo(trigger.config.path, url));
  for (const hook of ours) await switchOn(hook, repository, asking);
  let count = 0;
  for (const { path } of ours) count += await askForFailedBy(path, asking, MAX_ASKED - count);
  return count;
}

async function switchOn<T extends RepoTrigger, Api extends RepoApi>(
  { path, isOff }: Hook,
  repository: string,
  { api, trigger: { name }, host, remarks, hooksOf, signal }: Asking<T, Api>,
): Promise<void> {
  if (isOff === undefined) return;
  host.log.warn({ trigger: name, repository, hook: path, reason: isOff }, 'a hook is switched off');
  remarks.add(name, `the hook ${path} is switched off: ${isOff}`);
  if (hooksOf.switchOn === undefined) return;
  try {
    await inTurn(signal, async () => hooksOf.switchOn?.(api, path, signal));
    host.log.info({ trigger: name, repository, hook: path }, 'a hook was switched on again');
    remarks.add(name, `the hook ${path} was switched on again`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (signal.aborted) return;
    host.log.warn({ trigger: name, repository, hook: path, reason }, 'a hook cannot be switched on again');
    remarks.add(name, `the hook ${path} cannot be switched on again: ${reason}`);
  }
}

/** By one hook, no more than `most`. */
async function askForFailedBy<T extends RepoTrigger, Api extends RepoApi>(
  hook: string,
  asking: Asking<T, Api>,
  most = MAX_ASKED,
): Promise<number> {
  const { api, trigger, asked, hooksOf, signal } = asking;
  let count = 0;
  for (const id of await failedOf(hook, asking)) {
    if (count >= most) return count;
    const name = `${trigger.config.api_url} ${hook} ${id}`;
    if (!asked.add(name)) continue;
    try {
      await inTurn(signal, () => hooksOf.askAgain(api, hook, id, signal));
    } catch (error) {
      asked.delete(name);
      throw error;
    }
    count += 1;
  }
  return count;
}

/** What the host does not take now is asked for when it may be, so often. Rejects when the signal is aborted. */
async function inTurn<R>(signal: AbortSignal, ask: () => Promise<R>): Promise<R> {
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
async function failedOf<T extends RepoTrigger, Api extends RepoApi>(
  hook: string,
  { api, verifiedFor, host, hooksOf, signal }: Asking<T, Api>,
): Promise<readonly string[]> {
  const failed = new Map<string, string>();
  const settled = new Set<string>();
  let page: string | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const asked = page;
    const { attempts, next } = await inTurn(signal, () => hooksOf.attempts(api, hook, asked, signal));
    for (const { id, name, isTaken } of attempts) {
      if (isTaken) settled.add(name);
      else if (!failed.has(name)) failed.set(name, id);
    }
    page = next;
    if (page === undefined) break;
  }
  const wanted: string[] = [];
  for (const [name, id] of [...failed].reverse()) {
    if (settled.has(name)) continue;
    const known = await host.store.delivery(repoEventId(hooksOf.events, verifiedFor, name));
    if (known === undefined || known.state === 'dead') wanted.push(id);
  }
  return wanted;
}
