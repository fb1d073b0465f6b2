// The work on a row of the outbox: sends it to its platform, the rows of one destination in order, each until the
// platform has taken it or will never. A row is as durable as the event that caused it, and outlives the trigger's
// reload.
//
// What a platform does not take now is deferred, and is no attempt; nothing else waits in memory either. An edit of what is
// gone on the platform becomes a message of its own, unless it only was to change that.
//
// SND1  what the platform calls the message is kept with the row, in the commit that says that it was sent.
// SND2  what has expired does not leave any more, and its record says so.
// SND3  a row leaves by the account that it was made for, or not at all: another one is read elsewhere, or by nobody. Where the
//       trigger that it names is gone any other of that account sends it, with the same credential where an account has several.
// SND4  a draft leaves once at most, and not when what stands in its place is there: it must hold up no answer.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Assignment, Outcome, Work } from '../../events/inbox/work.ts';
import type { WorkPlaces } from '../../events/inbox/work-places.ts';
import type { Circuits } from '../../events/outbox/circuits.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import { destinationKey, type RowMeta, renderedOf } from '../../events/outbox/outbox-rows.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { askedInVain, givenUp, wasTried, withoutPlace } from './attempts.ts';

/** A platform that takes longer for one message has not taken it. */
const SEND_MS = 60_000;

export interface OutboxRouting {
  adapterOf(platform: string): Adapter | undefined;
  trigger(name: string): Trigger | undefined;
  /** Those that are loaded and enabled. */
  triggers(): readonly Trigger[];
}

export interface OutboxWorkOptions {
  /** The word of the platform: each has a work of its own, so that one that hangs takes no place from another. */
  readonly platform: string;
  readonly routing: OutboxRouting;
  readonly places: WorkPlaces;
  readonly store: Pick<Store, 'delivery'>;
  readonly circuits: Circuits;
}

export class OutboxWork implements Work {
  readonly prefix: string;
  readonly #options: OutboxWorkOptions;
  /** Rows whose edit has found nothing; of one that is forgotten that is found out again. */
  readonly #gone = new Set<string>();

  constructor(options: OutboxWorkOptions) {
    this.#options = options;
    this.prefix = `outbox/${options.platform}/`;
  }

  onHeld(name: string): void {
    this.#options.places.onHeld(name);
  }

  timeoutMs(): number {
    return SEND_MS;
  }

  async perform({ event, signal }: Assignment): Promise<Outcome> {
    const { platform, routing, places, circuits } = this.#options;
    const meta = JSON.parse(event.meta) as RowMeta;
    const { expiresAt, onlyEdits, replacedBy } = meta;
    const adapter = routing.adapterOf(platform);
    const outbound = adapter?.outbound;
    if (adapter === undefined || outbound === undefined) return ignored(meta.trigger, noTrigger(meta));
    const trigger = this.#triggerFor(event, meta, adapter);
    if (typeof trigger === 'string') return ignored(meta.trigger, trigger);
    const { name } = trigger;
    const { account } = accountOf(adapter, trigger);
    if (expiresAt !== undefined && Date.now() > expiresAt)
      return ignored(name, wasTried(event) ? EXPIRED_IN_DOUBT : EXPIRED);
    if (onlyEdits !== undefined && (await this.#receiptOf(onlyEdits)) === undefined)
      return ignored(name, NOTHING_TO_CHANGE);
    if (replacedBy !== undefined && (wasTried(event) || (await this.#isThere(replacedBy))))
      return ignored(name, 'it was only to be shown until the answer, and is sent once at most');
    const end = givenUp(trigger, event);
    if (end !== undefined) return end;
    const service = outbound.serviceOf?.(renderedOf(event));
    const address = `${trigger.type} ${service ?? outbound.sendsTo(trigger)}`;
    const place = places.take(address, name, event);
    if (typeof place === 'string') return withoutPlace(place, trigger, address);
    try {
      const send = () => this.#send(outbound, trigger, event, meta, signal);
      const { id, note } = await circuits.run(`${platform}/${account}`, send, service);
      this.#gone.delete(event.id);
      return { kind: 'done', trigger: name, receipt: id === '' ? undefined : id, note };
    } catch (error) {
      if (onlyEdits !== undefined && isGone(error)) return ignored(name, NOTHING_TO_CHANGE);
      const outcome = askedInVain(trigger, error);
      return replacedBy === undefined || outcome.kind === 'deferred' ? outcome : ignored(name, outcome.note);
    } finally {
      place.end();
    }
  }

  /** Or why there is none. */
  #triggerFor({ key }: StoredEvent, meta: RowMeta, adapter: Adapter): Trigger | string {
    const { platform, routing } = this.#options;
    const { trigger: name, action, sender } = meta;
    const isOfAccount = (trigger: Trigger) =>
      key.startsWith(destinationKey({ ...accountOf(adapter, trigger), platform }, ''));
    const named = routing.trigger(name);
    const isThere = named?.type === adapter.type;
    // Rows of an older version have neither an action nor an account in their keys.
    if (isThere && (action === undefined || isOfAccount(named))) return named;
    const others = action === undefined ? [] : routing.triggers();
    const isAlike = (each: Trigger) => isOfAccount(each) && adapter.outbound?.senderOf?.(each) === sender;
    const other = others.find((each) => each.type === adapter.type && isAlike(each));
    if (other !== undefined) return other;
    return isThere ? `it was made for another account than that of the trigger ${name} now` : noTrigger(meta);
  }

  async #send(
    outbound: Outbound,
    trigger: Trigger,
    event: StoredEvent,
    { onlyEdits }: RowMeta,
    signal: AbortSignal,
  ): Promise<Receipt> {
    const send = () => outbound.send(trigger, renderedOf(event), this.#contextOf(event, signal));
    try {
      return await send();
    } catch (error) {
      if (onlyEdits !== undefined || !isGone(error)) throw error;
      // Whatever pause the platform asks for now, it is not asked for the edit again.
      remember(this.#gone, event.id);
      return send();
    }
  }

  #contextOf(event: StoredEvent, signal: AbortSignal): SendContext {
    return {
      signal,
      rowId: event.id,
      madeAt: event.at,
      wasTried: wasTried(event),
      receiptOf: (rowId) => (this.#gone.has(event.id) ? nothing : this.#receiptOf(rowId)),
    };
  }

  async #isThere(ids: readonly string[]): Promise<boolean> {
    const found = await Promise.all(ids.map((id) => this.#options.store.delivery(id)));
    return found.some((each) => each !== undefined);
  }

  async #receiptOf(rowId: string): Promise<Receipt | undefined> {
    const receipt = (await this.#options.store.delivery(rowId))?.receipt;
    return receipt === undefined ? undefined : { id: receipt };
  }
}

const EXPIRED = 'it had expired before it could be sent';
const EXPIRED_IN_DOUBT = `${EXPIRED} again; an earlier attempt may have arrived`;
const NOTHING_TO_CHANGE = 'the message that it was to change was never sent, or is gone';
const MAX_GONE = 1_000;

const noTrigger = ({ trigger }: RowMeta) => `there is no trigger ${trigger} any more that could send it`;

const nothing = Promise.resolve(undefined);
const isGone = (error: unknown): boolean => error instanceof DeliveryError && error.isTargetGone;

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  forgetOldest(ids, MAX_GONE);
}

const ignored = (trigger: string, note: string): Outcome => ({ kind: 'ignored', trigger, note });
