// Operations on deliveries, for callers that do not know which process has the store and runs the work.
//
// A resolved change survives a restart: an accepted event, a discarded delivery.

import type { Undelivered } from '../../store/delivery.ts';
import type { NewEvent } from '../../store/event.ts';
import type { Appended, Store } from '../../store/store.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Settled } from './settled.ts';

export interface DeliveryControl {
  /** Makes the event durable; it runs as soon as possible. Rejects as the store's `append` does. */
  accept(event: NewEvent): Promise<Appended>;
  /** Makes rows of the outbox without an event durable, all or none. Rejects as the store's `append` does. */
  post(rows: readonly NewEvent[]): Promise<unknown>;
  /**
   * Resolves when the event ends or parks, or with undefined after `timeoutMs` or when `givenUp` aborts. Call it before
   * `accept`. Rejects with OverloadedError if too many callers wait.
   */
  settled(
    trigger: string,
    id: string,
    timeoutMs: number,
    givenUp?: AbortSignal,
  ): Promise<Settled | undefined>;
  /**
   * Ends a running or parked delivery as `ignored`; returns false in any other state. Rejects with UnavailableError if the
   * node that runs it does not answer.
   */
  cancel(id: string, note: string): Promise<boolean>;
  /** Ends a waiting, held or dead delivery as `ignored` and notifies its sender; returns false in any other state. */
  discard(id: string, note: string): Promise<boolean>;
  /**
   * Runs an ended or parked delivery again; with `keepsJournal` it continues after its last step. Returns false in any other
   * state.
   */
  requeue(id: string, options?: { readonly keepsJournal?: boolean }): Promise<boolean>;
  /**
   * Marks messages as dead that their platform accepted but did not deliver, by receipt, in keys with this prefix. Returns
   * their ids, undefined for an unknown receipt.
   */
  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]>;
}

export interface LocalDeliveries {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  /** Cancels a delivery that another node runs; undefined without other nodes. */
  readonly cancelRemote?: ((id: string, note: string) => Promise<boolean>) | undefined;
  /** Removes secrets from a note (A9). */
  redact(text: string): string;
}

/** Returns the operations of a process with the store and the work. Other nodes of a cluster have theirs. */
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
    settled: (trigger, id, timeoutMs, givenUp) => dispatcher.settled(trigger, id, timeoutMs, givenUp),
    async cancel(id, note) {
      if (dispatcher.cancel(id, note)) return true;
      const state = (await store.delivery(id))?.state;
      if (state === 'running' && cancelRemote !== undefined) return cancelRemote(id, note);
      if (state !== 'waiting') return false;
      // The delivery may have been woken in the meantime.
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
