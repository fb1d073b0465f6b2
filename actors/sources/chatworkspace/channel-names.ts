// What channels are called: events name them by their ids, and files by names. The platform is asked for each that has to be known,
// once, and for a while that holds.
//
// WSC1  what is kept is bounded, and each channel is asked for by one call at a time, however many wait for it.
// WSC2  a name that cannot be had now is told as such: nobody takes it for another one.
// WSC3  no more is asked than the platform takes; who comes beyond that is told when to come again.

import { Pace } from '../../../rest/pace.ts';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import { textMember } from '../payload-member.ts';
import type { WorkspaceApi } from './chatworkspace-api.ts';
import { deliveryErrorOf } from './chatworkspace-errors.ts';

/** Channels are called otherwise now and then. */
const KEPT_MS = 900_000;
const MAX_CHANNELS = 10_000;
/** The platform takes about fifty such questions a minute, some of them at once. */
const EVERY_MS = 1_200;
const BURST = 20;
const CALL_MS = 5_000;

interface Known {
  readonly names: readonly string[];
  readonly until: number;
}

export class ChannelNames {
  readonly #now: () => number;
  readonly #pace: Pace;
  /** The one that was learnt last is the last. */
  readonly #known = new Map<string, Known>();
  readonly #asking = new Map<string, Promise<readonly string[]>>();

  /** `now` gives milliseconds that only grow. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#pace = new Pace(EVERY_MS, now, BURST);
  }

  /** Undefined where it has to be asked for; empty for a channel without a name, or that the bot does not see. */
  known(channel: string): readonly string[] | undefined {
    const known = this.#known.get(channel);
    return known !== undefined && known.until > this.#now() ? known.names : undefined;
  }

  /** Rejects with a DeliveryError. */
  ask(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    const known = this.known(channel);
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
    const names = await this.#pace.run(() => this.#called(channel, api), refusedForMs);
    this.#remember(channel, names);
    return names;
  }

  async #called(channel: string, api: WorkspaceApi): Promise<readonly string[]> {
    try {
      const said = await api.call('conversations.info', { channel }, { timeoutMs: CALL_MS });
      const name = textMember(said, 'channel.name');
      return name === undefined ? [] : [name];
    } catch (error) {
      const fault = deliveryErrorOf(error, `the name of ${channel}`);
      const { message, platformCode, isFinal, isTooSoon, retryAfterMs } = fault;
      // A filter by names is not for it.
      if (platformCode === 'channel_not_found') return [];
      throw new DeliveryError(`what ${channel} is called is not known: ${message}`, {
        platformCode,
        isFinal,
        isTooSoon,
        retryAfterMs,
        cause: error,
      });
    }
  }

  #remember(channel: string, names: readonly string[]): void {
    this.#known.delete(channel);
    this.#known.set(channel, { names, until: this.#now() + KEPT_MS });
    for (const [oldest] of this.#known) {
      if (this.#known.size <= MAX_CHANNELS) break;
      this.#known.delete(oldest);
    }
  }
}

function refusedForMs(error: unknown): number | undefined {
  return error instanceof DeliveryError && error.isTooSoon ? (error.retryAfterMs ?? 60_000) : undefined;
}
