// Requests redelivery of webhooks that failed while the gateway was down, because the hosts do not retry.
// Covers hooks that lead to the trigger's path, of repositories that the trigger names in full, and hooks
// noted earlier (`notedHooks`). A HookHost supplies the host's API.
//
// - Runs in the background, with limits; failures are only logged. When rate limited, it pauses, because
//   comments have priority.
// - Deliveries in the store are skipped, unless they are dead there.
// - Redelivery of failed attempts is requested once, however many triggers need it.
// - A disabled hook is reported and, if the API allows it, enabled first, because the host does not send to
//   it.

import { setTimeout } from 'node:timers/promises';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { repoEventId } from './event.ts';
import type { RepoEvents } from './facts.ts';
import { handlesRepository } from './filter.ts';
import type { Recovery, RepoApi, RepoTrigger } from './host.ts';

const MAX_REPOSITORIES = 50;
const MAX_PAGES = 10;
const MAX_REDELIVERIES = 200;
const MAX_REMEMBERED = 10_000;
const MAX_RETRIES = 50;
const MAX_PAUSE_MS = 3_600_000;

/** A webhook at the host, whose deliveries the host can list. */
export interface Hook {
  /** API path: `/repos/acme/shop/hooks/12`. */
  readonly path: string;
  /** Target address of the hook. */
  readonly url: string | undefined;
  /** Reason why the host disabled the hook; undefined while it is active. */
  readonly disabledReason?: string | undefined;
}

/** A hook that was noted when it sent an event. */
export interface NotedHook {
  readonly path: string;
  /** Owner of the hook: `acme/shop`, or an organisation. */
  readonly owner: string;
}

/** An attempt of the host to deliver an event. */
export interface DeliveryAttempt {
  /** Id for requesting a redelivery. */
  readonly id: string;
  /** Delivery id as in event ids, equal for each attempt. */
  readonly name: string;
  /** True if the gateway responded with success. */
  readonly isAccepted: boolean;
}

/** A page of attempts, newest first. */
export interface Attempts {
  readonly attempts: readonly DeliveryAttempt[];
  /** Cursor of the next page; undefined on the last page, or if older attempts are not needed. */
  readonly next: string | undefined;
}

/** The host's hooks API. All methods reject with a DeliveryError. */
export interface HookHost<T extends RepoTrigger, Api extends RepoApi> {
  readonly events: RepoEvents;
  hooks(api: Api, repository: string, signal: AbortSignal): Promise<readonly Hook[]>;
  /** Lists a hook's attempts. `page` is `next` of the previous page. */
  attempts(api: Api, hook: string, page: string | undefined, signal: AbortSignal): Promise<Attempts>;
  redeliver(api: Api, hook: string, attempt: string, signal: AbortSignal): Promise<void>;
  /** Enables a hook. Only for hosts that can do so without an event that an agent handles. */
  enable?(api: Api, hook: string, signal: AbortSignal): Promise<void>;
  /** Returns the hooks noted for the trigger. Rejects if the store fails. */
  notedHooks?(recovery: Recovery<T, Api>): Promise<readonly NotedHook[]>;
}

interface RedeliveryRun<T extends RepoTrigger, Api extends RepoApi> extends Recovery<T, Api> {
  readonly requestedAttempts: RequestedAttempts;
  readonly hooksOf: HookHost<T, Api>;
}

/** Attempts with a requested redelivery. A redelivery is an attempt with a new id. */
export class RequestedAttempts {
  readonly #names = new Set<string>();

  /** Returns false if the name is already present. */
  add(name: string): boolean {
    if (this.#names.has(name)) return false;
    this.#names.add(name);
    deleteOldest(this.#names, MAX_REMEMBERED);
    return true;
  }

  delete(name: string): void {
    this.#names.delete(name);
  }
}

/** Requests a trigger's failed deliveries. Never rejects. Stops early when `signal` is aborted. */
export async function requestRedeliveries<T extends RepoTrigger, Api extends RepoApi>(
  run: RedeliveryRun<T, Api>,
): Promise<void> {
  const { trigger, hooksOf, signal } = run;
  const repositories = trigger.config.repositories.filter((name) => /^[\w.-]+(\/[\w.-]+)+$/.test(name));
  for (const repository of repositories.slice(0, MAX_REPOSITORIES)) {
    if (signal.aborted) return;
    await reportOutcome(repository, run, () => redeliverForRepository(repository, run));
  }
  if (signal.aborted) return;
  const hooks = (await hooksOf.notedHooks?.(run).catch(() => [])) ?? [];
  const isNamed = (owner: string) => repositories.some((name) => name.toLowerCase() === owner.toLowerCase());
  for (const { path, owner } of hooks) {
    if (signal.aborted) return;
    // Hooks of organisations, and of repositories that only a pattern matches. Repositories that the trigger
    // names in full are done above.
    const isWanted = !owner.includes('/') || (!isNamed(owner) && handlesRepository(trigger, owner));
    if (isWanted) await reportOutcome(owner, run, () => redeliverForHook(path, run));
  }
}

/** Runs `request`, logs the outcome and adds it to the trigger's diagnostics. */
async function reportOutcome<T extends RepoTrigger, Api extends RepoApi>(
  repository: string,
  { trigger: { name }, host, diagnostics, signal }: RedeliveryRun<T, Api>,
  request: () => Promise<number>,
): Promise<void> {
  const fields = { trigger: name, repository };
  try {
    const count = await request();
    if (count === 0) return;
    host.log.info({ ...fields, count }, 'requested redelivery of failed deliveries');
    diagnostics.add(name, `requested redelivery of ${count} failed deliveries of ${repository}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (signal.aborted) return;
    host.log.warn({ ...fields, reason }, 'could not request redelivery of failed deliveries');
    diagnostics.add(name, `could not request redelivery of failed deliveries of ${repository}: ${reason}`);
  }
}

async function redeliverForRepository<T extends RepoTrigger, Api extends RepoApi>(
  repository: string,
  run: RedeliveryRun<T, Api>,
): Promise<number> {
  const { api, trigger, hooksOf, signal } = run;
  const hooks = await retryRateLimited(signal, () => hooksOf.hooks(api, repository, signal));
  const ours = hooks.filter(({ url }) => isOurAddress(trigger.config.path, url));
  for (const hook of ours) await enableHook(hook, repository, run);
  let count = 0;
  for (const { path } of ours) count += await redeliverForHook(path, run, MAX_REDELIVERIES - count);
  return count;
}

async function enableHook<T extends RepoTrigger, Api extends RepoApi>(
  { path, disabledReason }: Hook,
  repository: string,
  { api, trigger: { name }, host, diagnostics, hooksOf, signal }: RedeliveryRun<T, Api>,
): Promise<void> {
  if (disabledReason === undefined) return;
  host.log.warn({ trigger: name, repository, hook: path, reason: disabledReason }, 'webhook is disabled');
  diagnostics.add(name, `webhook ${path} is disabled: ${disabledReason}`);
  if (hooksOf.enable === undefined) return;
  try {
    await retryRateLimited(signal, async () => hooksOf.enable?.(api, path, signal));
    host.log.info({ trigger: name, repository, hook: path }, 're-enabled webhook');
    diagnostics.add(name, `re-enabled webhook ${path}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (signal.aborted) return;
    host.log.warn({ trigger: name, repository, hook: path, reason }, 'could not re-enable webhook');
    diagnostics.add(name, `could not re-enable webhook ${path}: ${reason}`);
  }
}

/** Requests up to `max` redeliveries of this hook. Returns their number. */
async function redeliverForHook<T extends RepoTrigger, Api extends RepoApi>(
  hook: string,
  run: RedeliveryRun<T, Api>,
  max = MAX_REDELIVERIES,
): Promise<number> {
  const { api, trigger, requestedAttempts, hooksOf, signal } = run;
  let count = 0;
  for (const id of await failedAttemptIds(hook, run)) {
    if (count >= max) return count;
    const name = `${trigger.config.api_url} ${hook} ${id}`;
    if (!requestedAttempts.add(name)) continue;
    try {
      await retryRateLimited(signal, () => hooksOf.redeliver(api, hook, id, signal));
    } catch (error) {
      requestedAttempts.delete(name);
      throw error;
    }
    count += 1;
  }
  return count;
}

/**
 * Sends a request, and retries it after rate limits, up to MAX_RETRIES times. Rejects when the signal is
 * aborted.
 */
async function retryRateLimited<R>(signal: AbortSignal, request: () => Promise<R>): Promise<R> {
  for (let count = 1; ; count += 1) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isRateLimited || count === MAX_RETRIES) throw error;
      const pauseMs = Math.min(MAX_PAUSE_MS, error.retryAfterMs ?? MAX_PAUSE_MS);
      await setTimeout(pauseMs, undefined, { signal, ref: false });
    }
  }
}

/** Compares the end of the path, because a proxy may add a prefix. */
function isOurAddress(path: string, url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && new URL(url).pathname.endsWith(path);
}

/**
 * Returns the ids of failed attempts: the newest attempt per delivery, of deliveries that never succeeded,
 * oldest delivery first.
 */
async function failedAttemptIds<T extends RepoTrigger, Api extends RepoApi>(
  hook: string,
  { api, verifiedFor, host, hooksOf, signal }: RedeliveryRun<T, Api>,
): Promise<readonly string[]> {
  const failed = new Map<string, string>();
  const succeeded = new Set<string>();
  let page: string | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const cursor = page;
    const { attempts, next } = await retryRateLimited(signal, () =>
      hooksOf.attempts(api, hook, cursor, signal),
    );
    for (const { id, name, isAccepted } of attempts) {
      if (isAccepted) succeeded.add(name);
      else if (!failed.has(name)) failed.set(name, id);
    }
    page = next;
    if (page === undefined) break;
  }
  const missing: string[] = [];
  for (const [name, id] of [...failed].reverse()) {
    if (succeeded.has(name)) continue;
    const delivery = await host.store.delivery(repoEventId(hooksOf.events, verifiedFor, name));
    if (delivery === undefined || delivery.state === 'dead') missing.push(id);
  }
  return missing;
}
