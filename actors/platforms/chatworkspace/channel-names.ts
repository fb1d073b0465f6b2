// Resolves channel ids to names: events contain ids, trigger files may contain names. Names are cached. If
// the platform refuses single channel lookups, all channels are listed page by page.
//
// A temporary failure rejects and is never treated as a missing name. After permanent refusals, the bot's
// channels have no names for RETRY_MS: filters by name match nothing, other events are handled, and the log
// and the diagnostics contain the reason. A lookup above the platform's rate limit rejects with a retry
// delay. Each channel has one lookup at a time.

import { RateLimiter } from '../../../libs/rest/rate-limiter.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type Diagnostic, Diagnostics } from '../diagnostics.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import type { WorkspaceApi } from './api.ts';
import { deliveryErrorOf } from './errors.ts';

/** Cache lifetime; channels can be renamed. */
const CACHE_MS = 900_000;
const MAX_CHANNELS = 10_000;
/** Pause after refused lookups; an administrator may add the scope to the app meanwhile. */
const RETRY_MS = 300_000;
const PAGE = 200;
const MAX_PAGES = 50;
/** The platform accepts about fifty lookups a minute, with bursts. */
const INTERVAL_MS = 1_200;
const BURST = 20;
const TIMEOUT_MS = 5_000;

/** Name of the diagnostics; only one name is needed. */
const TOPIC = 'names';
const NAMES_REFUSED =
  'the platform refuses channel names; filters by name match nothing for five minutes: use channel ids, or add the scope to the app';

interface CachedNames {
  readonly names: readonly string[];
  readonly until: number;
}

interface ListPage {
  readonly cursor: string | undefined;
  /** Number of preceding pages. */
  readonly count: number;
}

const FIRST_PAGE: ListPage = { cursor: undefined, count: 0 };

export class ChannelNames {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #pace: RateLimiter;
  /** By channel, the oldest entry first. */
  readonly #cache = new Map<string, CachedNames>();
  readonly #lookups = new Map<string, Promise<readonly string[]>>();
  #listing: Promise<void> | undefined;
  #nextPage: ListPage = FIRST_PAGE;
  /** Next lookup time, for clients with refused lookups. */
  readonly #refusedUntil = new WeakMap<WorkspaceApi, number>();
  readonly #diagnostics = new Diagnostics();

  /** `now` is a monotonic clock in milliseconds. */
  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
    this.#pace = new RateLimiter(INTERVAL_MS, now, BURST);
  }

  /** Diagnostics about refused lookups. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics.of(TOPIC);
  }

  /**
   * Returns the cached names; undefined if a lookup is needed. Empty if the channel has no name or is
   * invisible to the bot, or while lookups of the client are refused.
   */
  cachedNames(channel: string, api?: WorkspaceApi): readonly string[] | undefined {
    const cached = this.#cache.get(channel);
    if (cached !== undefined && cached.until > this.#now()) return cached.names;
    const refusedUntil = api && this.#refusedUntil.get(api);
    return refusedUntil !== undefined && refusedUntil > this.#now() ? [] : undefined;
  }

  /**
   * Looks up the channel's names. Rejects with a DeliveryError if the lookup fails temporarily; returns no
   * names if the platform refuses it permanently.
   */
  lookUp(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    const cached = this.cachedNames(channel, api);
    if (cached !== undefined) return Promise.resolve(cached);
    const pending = this.#lookups.get(channel);
    if (pending !== undefined) return pending;
    const lookup = this.#lookUp(channel, api).finally(() => this.#lookups.delete(channel));
    this.#lookups.set(channel, lookup);
    return lookup;
  }

  async #lookUp(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    const pauseMs = this.#pace.reserveSlot();
    // No slot is free now.
    if (pauseMs !== undefined)
      throw new DeliveryError('rate limited: waiting for a channel lookup', {
        isRateLimited: true,
        isUncontacted: true,
        retryAfterMs: pauseMs,
      });
    try {
      const names = await this.#pace.run(() => this.#request(channel, api), retryDelayOf);
      this.#remember(channel, names);
      return names;
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isFinal) throw error;
      this.#refusedUntil.set(api, this.#now() + RETRY_MS);
      this.#log.warn({ channel, error: error.message }, NAMES_REFUSED);
      this.#diagnostics.add(TOPIC, `${NAMES_REFUSED} (${error.message})`);
      return [];
    }
  }

  async #request(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    const failure = `could not look up the name of channel ${channel}`;
    try {
      const response = await callApi(api, 'conversations.info', { channel }, failure);
      const name = textMember(response, 'channel.name');
      return name === undefined ? [] : [name];
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isFinal) throw error;
      // The bot cannot see the channel, so filters by name do not match it.
      if (error.platformCode === 'channel_not_found') return [];
      return this.#lookUpInList(channel, api, failure);
    }
  }

  async #lookUpInList(channel: string, api: WorkspaceApi, failure: string): Promise<readonly string[]> {
    this.#listing ??= this.#listChannels(api, failure).finally(() => {
      this.#listing = undefined;
    });
    await this.#listing;
    return this.cachedNames(channel) ?? [];
  }

  /** Caches all listed channels. When rate limited, the next listing continues with the same page. */
  async #listChannels(api: WorkspaceApi, failure: string): Promise<void> {
    let { cursor, count } = this.#nextPage;
    this.#nextPage = FIRST_PAGE;
    for (; count < MAX_PAGES; count += 1) {
      const parameters = { limit: PAGE, types: 'public_channel,private_channel', cursor };
      let page: unknown;
      try {
        page = await callApi(api, 'conversations.list', parameters, failure);
      } catch (error) {
        if (error instanceof DeliveryError && error.isRateLimited) this.#nextPage = { cursor, count };
        throw error;
      }
      const all = memberOf(page, 'channels');
      for (const each of Array.isArray(all) ? all : []) {
        const id = textMember(each, 'id');
        const name = textMember(each, 'name');
        if (id !== undefined && name !== undefined) this.#remember(id, [name]);
      }
      cursor = textMember(page, 'response_metadata.next_cursor') || undefined;
      if (cursor === undefined) return;
    }
  }

  #remember(channel: string, names: readonly string[]): void {
    this.#cache.delete(channel);
    this.#cache.set(channel, { names, until: this.#now() + CACHE_MS });
    deleteOldest(this.#cache, MAX_CHANNELS);
  }
}

async function callApi(
  api: WorkspaceApi,
  method: string,
  parameters: Readonly<Record<string, unknown>>,
  failure: string,
): Promise<unknown> {
  try {
    return await api.call(method, parameters, { timeoutMs: TIMEOUT_MS });
  } catch (error) {
    const { message, platformCode, isFinal, isRateLimited, retryAfterMs } = deliveryErrorOf(
      error,
      'a lookup',
    );
    throw new DeliveryError(`${failure}: ${message}`, {
      platformCode,
      isFinal,
      isRateLimited,
      retryAfterMs,
      cause: error,
    });
  }
}

function retryDelayOf(error: unknown): number | undefined {
  return error instanceof DeliveryError && error.isRateLimited ? (error.retryAfterMs ?? 60_000) : undefined;
}
