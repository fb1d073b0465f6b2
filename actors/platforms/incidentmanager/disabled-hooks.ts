// Re-enables webhooks that the platform disabled. It disables a hook for a day after three failed deliveries
// in a row, and drops the events meanwhile. If the key permits it, hooks that lead to the trigger's path are
// checked when the trigger opens, and periodically while it is open.
//
// Runs in the background; failures are only logged. A hook that a person disabled stays disabled, and is
// reported once. A report is repeated only after the state has changed. Pages, hooks and pauses are limited.

import { setTimeout } from 'node:timers/promises';
import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { ApiRequest } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { TriggerHost } from '../adapter.ts';
import type { Diagnostics } from '../diagnostics.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { IncidentManagerApi } from './api.ts';

const PAGE = 100;
/** The platform returns up to 10,000 list entries. */
const MAX_PAGES = 100;
const MAX_ENABLED = 50;
const MAX_RETRIES = 10;
const MAX_PAUSE_MS = 3_600_000;

interface Watch {
  readonly api: IncidentManagerApi;
  readonly trigger: IncidentManagerTrigger;
  readonly host: TriggerHost;
  readonly diagnostics: Diagnostics;
  readonly firstCheckMs: number;
  readonly checkEveryMs: number;
}

/** Starts the checks and returns a function that stops them. */
export function watchHooks(watch: Watch): () => void {
  const stopping = new AbortController();
  void checkPeriodically(new HookWatch(watch, stopping.signal), watch, stopping.signal);
  return () => stopping.abort();
}

async function checkPeriodically(
  hooks: HookWatch,
  { firstCheckMs, checkEveryMs }: Watch,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = firstCheckMs; !signal.aborted; pauseMs = checkEveryMs) {
    await setTimeout(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    if (!signal.aborted) await hooks.check();
  }
}

class HookWatch {
  readonly #watch: Watch;
  readonly #signal: AbortSignal;
  /** Last report per inactive hook, and the last failure under ''. */
  readonly #lastReports = new Map<string, string>();

  constructor(watch: Watch, signal: AbortSignal) {
    this.#watch = watch;
    this.#signal = signal;
  }

  /** Checks the hooks once. Never rejects. */
  async check(): Promise<void> {
    const { trigger, host, diagnostics } = this.#watch;
    const fields = { trigger: trigger.name };
    try {
      const ours = await this.#findHooks();
      this.#lastReports.delete('');
      const active = ours.filter(({ isInactive }) => !isInactive);
      for (const { id } of active) this.#lastReports.delete(id);
      for (const { id } of active.filter(({ isDisabled }) => isDisabled).slice(0, MAX_ENABLED)) {
        const subscription = `webhook subscription ${id}`;
        await this.#request(
          { method: 'POST', path: path`/webhook_subscriptions/${id}/enable` },
          subscription,
        );
        host.log.info({ ...fields, subscription: id }, 're-enabled webhook');
        diagnostics.add(trigger.name, `re-enabled ${subscription}, which the platform had disabled`);
      }
      for (const { id } of ours.filter(({ isInactive }) => isInactive)) {
        if (this.#isRepeated(id, 'inactive')) continue;
        diagnostics.add(trigger.name, `webhook subscription ${id} is inactive: it sends no events`);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#signal.aborted || this.#isRepeated('', reason)) return;
      host.log.warn({ ...fields, reason }, 'could not check for disabled webhooks');
      diagnostics.add(trigger.name, `could not check for disabled webhooks: ${reason}`);
    }
  }

  /** Returns the hooks that lead to the trigger's path. */
  async #findHooks() {
    const ours: { readonly id: string; readonly isDisabled: boolean; readonly isInactive: boolean }[] = [];
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { limit: PAGE, offset: page * PAGE };
      const list = await this.#request(
        { path: '/webhook_subscriptions', query },
        'the webhook subscriptions',
      );
      const all = memberOf(list, 'webhook_subscriptions');
      for (const each of Array.isArray(all) ? all : []) {
        const id = textMember(each, 'id');
        if (id === undefined || !isOurAddress(this.#watch.trigger.config.path, each)) continue;
        const isInactive = memberOf(each, 'active') === false;
        ours.push({
          id,
          isInactive,
          isDisabled: memberOf(each, 'delivery_method.temporarily_disabled') === true,
        });
      }
      if (memberOf(list, 'more') !== true) break;
    }
    return ours;
  }

  /** Sends a request, and retries it after rate limits, up to MAX_RETRIES times. */
  async #request(request: ApiRequest, what: string): Promise<unknown> {
    const { api, trigger } = this.#watch;
    const signal = this.#signal;
    for (let count = 1; ; count += 1) {
      try {
        return (await api.request({ ...request, signal }, what, trigger.retry)).json;
      } catch (error) {
        if (!(error instanceof DeliveryError) || !error.isRateLimited || count === MAX_RETRIES) throw error;
        const pauseMs = Math.min(MAX_PAUSE_MS, error.retryAfterMs ?? MAX_PAUSE_MS);
        await setTimeout(pauseMs, undefined, { signal, ref: false });
      }
    }
  }

  #isRepeated(key: string, report: string): boolean {
    const isKnown = this.#lastReports.get(key) === report;
    this.#lastReports.set(key, report);
    return isKnown;
  }
}

/** Compares the end of the path, because a proxy may add a prefix. Ignores credentials in the address. */
function isOurAddress(ourPath: string, subscription: unknown): boolean {
  const url = textMember(subscription, 'delivery_method.url') ?? '';
  return URL.canParse(url) && new URL(url).pathname.endsWith(ourPath);
}
