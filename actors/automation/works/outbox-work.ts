// Sends outbox rows (messages), in order per destination, until the platform accepts a row or rejects it
// permanently. Rate-limited rows are deferred without counting an attempt, and expired rows are not sent. The
// message id of the platform is committed with the row. A row is sent only with its original account; if the
// trigger was removed, another trigger with the same account and credential sends it. An edit of a deleted
// message becomes a new message, unless the row is only an edit (`onlyEdits`). A draft is a row that shows an
// unfinished answer; the answer's rows replace it (`replacedBy`). Drafts are sent once, and never after the
// answer.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Assignment, Work, WorkOutcome } from '../../events/inbox/work.ts';
import type { WorkSlots } from '../../events/inbox/work-slots.ts';
import type { Circuits } from '../../events/outbox/circuits.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import { destinationKey, type RowMeta, renderedOf } from '../../events/outbox/rows.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { exhaustedOutcome, failedRequestOutcome, queuedOutcome, wasTried } from './attempts.ts';

/** Timeout per message. */
const SEND_MS = 60_000;

export interface OutboxRouting {
  adapterOf(platform: string): Adapter | undefined;
  trigger(name: string): Trigger | undefined;
  /** Loaded and enabled triggers. */
  triggers(): readonly Trigger[];
}

export interface OutboxWorkOptions {
  /** Platform name. Each platform has separate work and slots: a slow platform must not delay others. */
  readonly platform: string;
  readonly routing: OutboxRouting;
  readonly slots: WorkSlots;
  readonly store: Pick<Store, 'delivery' | 'now'>;
  readonly circuits: Circuits;
}

export class OutboxWork implements Work {
  readonly prefix: string;
  readonly #options: OutboxWorkOptions;
  /**
   * Ids of edits whose message was deleted; they are sent as new messages. If a full set drops an id, the
   * next attempt adds it again.
   */
  readonly #rowsWithoutTarget = new Set<string>();

  constructor(options: OutboxWorkOptions) {
    this.#options = options;
    this.prefix = `outbox/${options.platform}/`;
  }

  onQueued(name: string): void {
    this.#options.slots.noteQueued(name);
  }

  timeoutMs(): number {
    return SEND_MS;
  }

  async perform({ event, signal }: Assignment): Promise<WorkOutcome> {
    const { platform, routing, slots, store, circuits } = this.#options;
    const meta = JSON.parse(event.meta) as RowMeta;
    const { expiresAt, onlyEdits, replacedBy } = meta;
    const adapter = routing.adapterOf(platform);
    const outbound = adapter?.outbound;
    if (adapter === undefined || outbound === undefined) return ignored(meta.trigger, noTrigger(meta));
    const trigger = this.#triggerFor(event, meta, adapter);
    if (typeof trigger === 'string') return ignored(meta.trigger, trigger);
    // The trigger that sends the row; `meta.trigger` is the original one.
    const { name } = trigger;
    const { account } = accountOf(adapter, trigger);
    if (expiresAt !== undefined && store.now() > expiresAt)
      return ignored(name, wasTried(event) ? EXPIRED_IN_DOUBT : EXPIRED);
    if (onlyEdits !== undefined && (await this.#receiptOf(onlyEdits)) === undefined)
      return ignored(name, NOTHING_TO_CHANGE);
    if (replacedBy !== undefined && (wasTried(event) || (await this.#existsAny(replacedBy))))
      return ignored(name, 'draft: not sent twice or after the answer');
    const exhausted = exhaustedOutcome(trigger, event);
    if (exhausted !== undefined) return exhausted;
    // Defined if the account's destinations have different hosts. Slots and circuit breakers are per host.
    const host = outbound.hostOf?.(renderedOf(event));
    const address = `${trigger.type} ${host ?? outbound.addressOf(trigger)}`;
    const slot = slots.take(address, name, event);
    // Without a free slot, `slot` is the name of the group in which the row waits (work-slots.ts).
    if (typeof slot === 'string') return queuedOutcome(slot, trigger, address);
    try {
      const send = () => this.#send(outbound, trigger, event, meta, signal);
      const { id, note } = await circuits.run(`${platform}/${account}`, send, host);
      this.#rowsWithoutTarget.delete(event.id);
      return { kind: 'done', trigger: name, receipt: id === '' ? undefined : id, note };
    } catch (error) {
      if (onlyEdits !== undefined && isTargetMissing(error)) return ignored(name, NOTHING_TO_CHANGE);
      const outcome = failedRequestOutcome(trigger, error);
      return replacedBy === undefined || outcome.kind === 'deferred' ? outcome : ignored(name, outcome.note);
    } finally {
      slot.end();
    }
  }

  /**
   * Returns the trigger that sends the row: the named one, or another one with the same account and
   * credential. Returns a note if there is none.
   */
  #triggerFor({ key }: StoredEvent, meta: RowMeta, adapter: Adapter): Trigger | string {
    const { platform, routing } = this.#options;
    const { trigger: name, action, sender } = meta;
    const isOfAccount = (trigger: Trigger) =>
      key.startsWith(destinationKey({ ...accountOf(adapter, trigger), platform }, ''));
    const namedTrigger = routing.trigger(name);
    const isSameType = namedTrigger?.type === adapter.type;
    // Rows of older versions lack the action, and the account in their keys, so only the named trigger is
    // tried.
    if (isSameType && (action === undefined || isOfAccount(namedTrigger))) return namedTrigger;
    const others = action === undefined ? [] : routing.triggers();
    const isAlike = (each: Trigger) =>
      isOfAccount(each) && adapter.outbound?.credentialNameOf?.(each) === sender;
    const other = others.find((each) => each.type === adapter.type && isAlike(each));
    if (other !== undefined) return other;
    return isSameType ? `trigger ${name} now uses another account` : noTrigger(meta);
  }

  async #send(
    outbound: Outbound,
    trigger: Trigger,
    event: StoredEvent,
    { onlyEdits }: RowMeta,
    signal: AbortSignal,
  ): Promise<SendReceipt> {
    const send = () => outbound.send(trigger, renderedOf(event), this.#contextOf(event, signal));
    try {
      return await send();
    } catch (error) {
      if (onlyEdits !== undefined || !isTargetMissing(error)) throw error;
      // The second call sends a new message.
      remember(this.#rowsWithoutTarget, event.id);
      return send();
    }
  }

  #contextOf(event: StoredEvent, signal: AbortSignal): SendContext {
    return {
      signal,
      rowId: event.id,
      createdAt: event.at,
      wasTried: wasTried(event),
      receiptOf: (rowId) => (this.#rowsWithoutTarget.has(event.id) ? nothing : this.#receiptOf(rowId)),
    };
  }

  async #existsAny(ids: readonly string[]): Promise<boolean> {
    const deliveries = await Promise.all(ids.map((id) => this.#options.store.delivery(id)));
    return deliveries.some((each) => each !== undefined);
  }

  async #receiptOf(rowId: string): Promise<SendReceipt | undefined> {
    const receipt = (await this.#options.store.delivery(rowId))?.receipt;
    return receipt === undefined ? undefined : { id: receipt };
  }
}

const EXPIRED = 'expired before it was sent';
const EXPIRED_IN_DOUBT = `${EXPIRED} again; an earlier attempt may have arrived`;
const NOTHING_TO_CHANGE = 'the message to edit was never sent or was deleted';
const MAX_ROWS = 1_000;

const noTrigger = ({ trigger }: RowMeta) => `trigger ${trigger} no longer exists, and no other can send it`;

/** Result of `receiptOf` for a row after its message was deleted. */
const nothing = Promise.resolve(undefined);
const isTargetMissing = (error: unknown): boolean => error instanceof DeliveryError && error.isTargetMissing;

function remember(ids: Set<string>, id: string): void {
  ids.add(id);
  deleteOldest(ids, MAX_ROWS);
}

const ignored = (trigger: string, note: string): WorkOutcome => ({ kind: 'ignored', trigger, note });
