// Operations on deliveries (events and their records) for the HTTP API and the platforms. Callers do not need
// to know which process has the store and runs the work. A change is durable when its promise resolves.

import type { Undelivered } from '../../store/delivery.ts';
import type { NewEvent } from '../../store/event.ts';
import type { AppendOutcome, Store } from '../../store/store.ts';
import type { DeliveryOutcome } from './delivery-outcome.ts';
import type { Dispatcher } from './dispatcher.ts';

export interface DeliveryControl {
  /** Makes the event durable, and schedules its run. Rejects like the store's `append`. */
  accept(event: NewEvent): Promise<AppendOutcome>;
  /** Makes outbox rows durable, all or none, that belong to no event. Rejects like the store's `append`. */
  post(rows: readonly NewEvent[]): Promise<unknown>;
  /**
   * Resolves when the event is settled or parked, or with undefined after `timeoutMs` or when `signal`
   * aborts. Call it before `accept`. Rejects with OverloadedError if too many calls are pending.
   */
  waitUntilSettled(
    trigger: string,
    id: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<DeliveryOutcome | undefined>;
  /**
   * Settles a running or parked delivery (state `running` or `waiting`) as `ignored`; returns false in other
   * states. Rejects with UnavailableError if the node that runs it does not respond.
   */
  cancel(id: string, note: string): Promise<boolean>;
  /**
   * Settles a queued, retrying, `held`, parked or dead delivery as `ignored` and notifies the sender; returns
   * false in other states.
   */
  discard(id: string, note: string): Promise<boolean>;
  /**
   * Reruns a settled or parked delivery; returns false in other states. With `keepsJournal` the run continues
   * at its next step, otherwise it starts over.
   */
  requeue(id: string, options?: { readonly keepsJournal?: boolean }): Promise<boolean>;
  /**
   * Marks messages as dead that the platform first accepted and then reported as undelivered. Finds them by
   * the message id of the platform (receipt), among the outbox rows whose keys begin with `keyPrefix`.
   * Returns the ids of the rows, and undefined for unknown receipts.
   */
  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]>;
}

export interface LocalDeliveries {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  /** Cancels a delivery that another node runs; undefined without other nodes. */
  readonly cancelRemote?: ((id: string, note: string) => Promise<boolean>) | undefined;
  /** Removes secrets from a note (A9, ARCHITECTURE.md). */
  redact(text: string): string;
}

/** Returns the operations for a process that has the store and runs the work. */
export function localDeliveryControl({
  store,
  dispatcher,
  cancelRemote,
  redact,
}: LocalDeliveries): DeliveryControl {
  const discard = (id: string, note: string) => dispatcher.discard(id, note);
  return {
    accept: (event) => dispatcher.accept(event),
    post: (rows) => store.append(rows),
    waitUntilSettled: (trigger, id, timeoutMs, signal) =>
      dispatcher.waitUntilSettled(trigger, id, timeoutMs, signal),
    async cancel(id, note) {
      if (dispatcher.cancel(id, note)) return true;
      const state = (await store.delivery(id))?.state;
      if (state === 'running' && cancelRemote !== undefined) return cancelRemote(id, note);
      if (state !== 'waiting') return false;
      // If `discard` fails, the delivery was woken in the meantime, and runs.
      return (await discard(id, note)) || dispatcher.cancel(id, note);
    },
    discard,
    requeue: (id, options) => store.requeue(id, options),
    undeliver: (keyPrefix, messages) =>
      store.undeliver(
        keyPrefix,
        messages.map(({ receipt, note }) => ({ receipt, note: redact(note) })),
      ),
  };
}
