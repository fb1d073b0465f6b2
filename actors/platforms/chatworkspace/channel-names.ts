// What channels are called: events name them by their ids, and files by names. The platform is asked for each that has to be known,
// once, and for a while that holds. Where it does not tell of a single one it is asked for all of them, page by page.
//
// WSC1  what is kept is bounded, and each channel is asked for by one call at a time, however many wait for it.
// WSC2  a name that cannot be had now is told as such: nobody takes it for another one. One that the platform refuses a bot for good
//       is no name for it for a while, and log and remarks say why: no filter by names takes its events, and the others are not held up,
//       since nobody but a person can mend that.
// WSC3  no more is asked than the platform takes; who comes beyond that is told when to come again.

import { Pace } from '../../../libs/rest/pace.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { type Remark, Remarks } from '../remarks.ts';
import type { WorkspaceApi } from './api.ts';
import { deliveryErrorOf } from './errors.ts';

/** Channels are called otherwise now and then. */
const KEPT_MS = 900_000;
const MAX_CHANNELS = 10_000;
/** After that long a scope that the app has got since is found. */
const REFUSED_MS = 300_000;
const PAGE = 200;
const MAX_PAGES = 50;
/** The platform takes about fifty such questions a minute, some of them at once. */
const EVERY_MS = 1_200;
const BURST = 20;
const CALL_MS = 5_000;

const NAMES = 'names';
const NO_NAMES =
  'the platform tells no names of channels: filters by names take nothing for five minutes; write ids, or give the app the scope';

interface Known {
  readonly names: readonly string[];
  readonly until: number;
}

interface ListPage {
  readonly cursor: string | undefined;
  /** Pages before it. */
  readonly count: number;
}

const FIRST_PAGE: ListPage = { cursor: undefined, count: 0 };

export class ChannelNames {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #pace: Pace;
  /** The one that was learnt last is the last. */
  readonly #known = new Map<string, Known>();
  readonly #asking = new Map<string, Promise<readonly string[]>>();
  #listing: Promise<void> | undefined;
  #reached: ListPage = FIRST_PAGE;
  /** By whom neither one nor all can be asked for before. */
  readonly #refusedUntil = new WeakMap<WorkspaceApi, number>();
  readonly #remarks = new Remarks();

  /** `now` gives milliseconds that only grow. */
  constructor(log: Log, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
    this.#pace = new Pace(EVERY_MS, now, BURST);
  }

  /** That names were refused. */
  get remarks(): readonly Remark[] {
    return this.#remarks.of(NAMES);
  }

  /**
   * Undefined where it has to be asked for; empty for a channel without a name, that the bot does not see, or while names are
   * refused to who would ask.
   */
  known(channel: string, api?: WorkspaceApi): readonly string[] | undefined {
    const known = this.#known.get(channel);
    if (known !== undefined && known.until > this.#now()) return known.names;
    const refusedUntil = api && this.#refusedUntil.get(api);
    return refusedUntil !== undefined && refusedUntil > this.#now() ? [] : undefined;
  }

  /** Rejects with a DeliveryError while it cannot be had; a refusal for good is empty. */
  ask(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    const known = this.known(channel, api);
    if (known !== undefined) return Promise.resolve(known);
    const before = this.#asking.get(channel);
    if (before !== undefined) return before;
    const asking = this.#ask(channel, api).finally(() => this.#asking.delete(channel));
    this.#asking.set(channel, asking);
    return asking;
  }

  async #ask(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    const pauseMs = this.#pace.takeTurn();
    if (pauseMs !== undefined)
      throw new DeliveryError('the platform is asked for names of channels as fast as it takes that', {
        isTooSoon: true,
        isUnasked: true,
        retryAfterMs: pauseMs,
      });
    try {
      const names = await this.#pace.run(() => this.#called(channel, api), refusedForMs);
      this.#remember(channel, names);
      return names;
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isFinal) throw error;
      this.#refusedUntil.set(api, this.#now() + REFUSED_MS);
      this.#log.warn({ channel, error: error.message }, NO_NAMES);
      this.#remarks.add(NAMES, `${NO_NAMES} (${error.message})`);
      return [];
    }
  }

  async #called(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    const what = `what ${channel} is called is not known`;
    try {
      const said = await asked(api, 'conversations.info', { channel }, what);
      const name = textMember(said, 'channel.name');
      return name === undefined ? [] : [name];
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isFinal) throw error;
      // A filter by names is not for it.
      if (error.platformCode === 'channel_not_found') return [];
      return this.#listed(channel, api, what);
    }
  }

  async #listed(channel: string, api: WorkspaceApi, what: string): Promise<readonly string[]> {
    this.#listing ??= this.#list(api, what).finally(() => {
      this.#listing = undefined;
    });
    await this.#listing;
    return this.known(channel) ?? [];
  }

  /** Remembers all of the list. What was too soon goes on at the page where it was. */
  async #list(api: WorkspaceApi, what: string): Promise<void> {
    let { cursor, count } = this.#reached;
    this.#reached = FIRST_PAGE;
    for (; count < MAX_PAGES; count += 1) {
      const parameters = { limit: PAGE, types: 'public_channel,private_channel', cursor };
      let page: unknown;
      try {
        page = await asked(api, 'conversations.list', parameters, what);
      } catch (error) {
        if (error instanceof DeliveryError && error.isTooSoon) this.#reached = { cursor, count };
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
    this.#known.delete(channel);
    this.#known.set(channel, { names, until: this.#now() + KEPT_MS });
    forgetOldest(this.#known, MAX_CHANNELS);
  }
}

async function asked(
  api: WorkspaceApi,
  method: string,
  parameters: Readonly<Record<string, unknown>>,
  what: string,
): Promise<unknown> {
  try {
    return await api.call(method, parameters, { timeoutMs: CALL_MS });
  } catch (error) {
    const { message, platformCode, isFinal, isTooSoon, retryAfterMs } = deliveryErrorOf(error, 'that');
    throw new DeliveryError(`${what}: ${message}`, {
      platformCode,
      isFinal,
      isTooSoon,
      retryAfterMs,
      cause: error,
    });
  }
}

function refusedForMs(error: unknown): number | undefined {
  return error instanceof DeliveryError && error.isTooSoon ? (error.retryAfterMs ?? 60_000) : undefined;
}
