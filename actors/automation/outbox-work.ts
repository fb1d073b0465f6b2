// The work on a row of the outbox: sends it to its platform, the rows of one destination in order, each until the
// platform has taken it or will never. A row is as durable as the event that caused it, and outlives the trigger's
// reload.

import type { Trigger } from '../../config/resources/trigger.ts';
import type { Assignment, Outcome, Work } from '../inbox/work.ts';
import type { WorkPlaces } from '../inbox/work-places.ts';
import { DeliveryError } from '../outbound/delivery-error.ts';
import type { Adapter } from '../sources/adapter.ts';
import { givenUp, withoutPlace } from './conversation-work.ts';

/** A platform that takes longer for one message has not taken it. */
const SEND_MS = 60_000;
/** Where a platform that takes no more does not say for how long. */
const TOO_SOON_MS = 60_000;

export interface Sendings {
  adapterOf(platform: string): Adapter | undefined;
  trigger(name: string): Trigger | undefined;
}

/** In the `meta` of every row of the outbox, beside what the adapter needs. */
interface RowMeta {
  readonly trigger: string;
}

export class OutboxWork implements Work {
  readonly prefix = 'outbox/';
  readonly #sendings: Sendings;
  readonly #places: WorkPlaces;

  constructor(sendings: Sendings, places: WorkPlaces) {
    this.#sendings = sendings;
    this.#places = places;
  }

  onHeld(name: string): void {
    this.#places.onHeld(name);
  }

  timeoutMs(): number {
    return SEND_MS;
  }

  async perform({ event, signal }: Assignment): Promise<Outcome> {
    const { trigger: name } = JSON.parse(event.meta) as RowMeta;
    const trigger = this.#sendings.trigger(name);
    const adapter = this.#sendings.adapterOf(event.key.split('/')[1] ?? '');
    if (trigger === undefined || adapter?.send === undefined)
      return {
        kind: 'ignored',
        trigger: name,
        note: `there is no trigger ${name} any more that could send it`,
      };
    const end = givenUp(trigger, event);
    if (end !== undefined) return end;
    const platform = `${adapter.type} ${adapter.sendsTo?.(trigger) ?? ''}`;
    const place = this.#places.take(platform, name, event);
    if (typeof place === 'string') return withoutPlace(place, trigger, platform);
    try {
      await adapter.send(trigger, event, signal);
      return { kind: 'done', trigger: name };
    } catch (error) {
      const { isFinal, isTooSoon, retryAfterMs } =
        error instanceof DeliveryError ? error : new DeliveryError('');
      const note = error instanceof Error ? error.message : String(error);
      const { retry } = trigger;
      if (isTooSoon)
        return { kind: 'deferred', trigger: name, note, inMs: retryAfterMs ?? TOO_SOON_MS, retry };
      return { kind: 'failed', trigger: name, note, isFinal, retryAfterMs, retry };
    } finally {
      place.end();
    }
  }
}
