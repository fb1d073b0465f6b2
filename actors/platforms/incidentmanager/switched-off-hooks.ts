// The platform switches a hook off for a day when three deliveries in a row have failed, and drops what happens meanwhile. Where the
// key may, hooks that lead to our path are switched on again: when a trigger has opened, and every so often while it is open.
//
// IMH1  it runs in the background, and whatever goes wrong there is a line in the log.
// IMH2  what a person has switched off stays so, and is told of once.
// IMH3  what is told once is not told again until it is otherwise.
//
// Pages, hooks and pauses have bounds.

import { setTimeout } from 'node:timers/promises';
import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { ApiRequest } from '../../../libs/rest/http-api.ts';
import { path } from '../../../libs/rest/path.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { SourceHost } from '../adapter.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { Remarks } from '../remarks.ts';
import type { IncidentManagerApi } from './api.ts';

const PAGE = 100;
/** The platform gives no more than 10,000 of a list. */
const MAX_PAGES = 100;
const MAX_ENABLED = 50;
const MAX_PUT_OFF = 10;
const LONGEST_PAUSE_MS = 3_600_000;

interface Watch {
  readonly api: IncidentManagerApi;
  readonly trigger: IncidentManagerTrigger;
  readonly host: SourceHost;
  readonly remarks: Remarks;
  readonly firstLookMs: number;
  readonly lookEveryMs: number;
}

/** Gives the way to end it. */
export function watchHooks(watch: Watch): () => void {
  const ending = new AbortController();
  void lookEverySoOften(new HookWatch(watch, ending.signal), watch, ending.signal);
  return () => ending.abort();
}

async function lookEverySoOften(
  hooks: HookWatch,
  { firstLookMs, lookEveryMs }: Watch,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = firstLookMs; !signal.aborted; pauseMs = lookEveryMs) {
    await setTimeout(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    if (!signal.aborted) await hooks.look();
  }
}

class HookWatch {
  readonly #watch: Watch;
  readonly #signal: AbortSignal;
  /** What was said last of each hook that is off for good, and of what could not be asked. */
  readonly #told = new Map<string, string>();

  constructor(watch: Watch, signal: AbortSignal) {
    this.#watch = watch;
    this.#signal = signal;
  }

  /** Never rejects. */
  async look(): Promise<void> {
    const { trigger, host, remarks } = this.#watch;
    const where = { trigger: trigger.name };
    try {
      const ours = await this.#ours();
      this.#told.delete('');
      const active = ours.filter(({ isInactive }) => !isInactive);
      for (const { id } of active) this.#told.delete(id);
      for (const { id } of active.filter(({ isOff }) => isOff).slice(0, MAX_ENABLED)) {
        const what = `webhook subscription ${id}`;
        await this.#ask({ method: 'POST', path: path`/webhook_subscriptions/${id}/enable` }, what);
        host.log.info({ ...where, subscription: id }, 'webhook that was switched off is switched on again');
        remarks.add(trigger.name, `${what} was switched off by the platform, and is switched on again`);
      }
      for (const { id } of ours.filter(({ isInactive }) => isInactive)) {
        if (this.#isKnown(id, 'inactive')) continue;
        remarks.add(trigger.name, `webhook subscription ${id} is inactive: nothing comes by it`);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#signal.aborted || this.#isKnown('', reason)) return;
      host.log.warn({ ...where, reason }, 'webhooks that were switched off cannot be looked for');
      remarks.add(trigger.name, `webhooks that were switched off cannot be looked for: ${reason}`);
    }
  }

  /** Those that lead to our path. */
  async #ours() {
    const ours: { readonly id: string; readonly isOff: boolean; readonly isInactive: boolean }[] = [];
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = { limit: PAGE, offset: page * PAGE };
      const said = await this.#ask({ path: '/webhook_subscriptions', query }, 'the webhook subscriptions');
      const all = memberOf(said, 'webhook_subscriptions');
      for (const each of Array.isArray(all) ? all : []) {
        const id = textMember(each, 'id');
        if (id === undefined || !leadsTo(this.#watch.trigger.config.path, each)) continue;
        const isInactive = memberOf(each, 'active') === false;
        ours.push({ id, isInactive, isOff: memberOf(each, 'delivery_method.temporarily_disabled') === true });
      }
      if (memberOf(said, 'more') !== true) break;
    }
    return ours;
  }

  /** What the platform does not take now is asked for when it may be, so often. */
  async #ask(request: ApiRequest, what: string): Promise<unknown> {
    const { api, trigger } = this.#watch;
    const signal = this.#signal;
    for (let count = 1; ; count += 1) {
      try {
        return (await api.request({ ...request, signal }, what, trigger.retry)).json;
      } catch (error) {
        if (!(error instanceof DeliveryError) || !error.isTooSoon || count === MAX_PUT_OFF) throw error;
        const pauseMs = Math.min(LONGEST_PAUSE_MS, error.retryAfterMs ?? LONGEST_PAUSE_MS);
        await setTimeout(pauseMs, undefined, { signal, ref: false });
      }
    }
  }

  #isKnown(of: string, what: string): boolean {
    const isKnown = this.#told.get(of) === what;
    this.#told.set(of, what);
    return isKnown;
  }
}

/** A proxy may have put something before the path; names and passwords in the address are nobody's affair. */
function leadsTo(ourPath: string, subscription: unknown): boolean {
  const url = textMember(subscription, 'delivery_method.url') ?? '';
  return URL.canParse(url) && new URL(url).pathname.endsWith(ourPath);
}
