// What may be asked about deliveries and the triggers they are for, wherever they are handled: whoever accepts, waits, cancels
// or pauses goes through here, and does not know which process it is that has the store and the work.
//
// What was resolved holds over restarts: an accepted event, a pause, an event that was discarded. What is told at once
// (pauses, counters) is as far as this process has heard.

import type { Cancels } from '../../automation/operator/cancels.ts';
import type { Pauses } from '../../automation/triggers/pauses.ts';
import type { TriggerCounters, TriggerCounts } from '../../automation/triggers/trigger-counters.ts';
import type { Settled } from '../../platforms/adapter.ts';
import type { RefusedProof } from '../../platforms/webhooks/refused-proofs.ts';
import type { Undelivered } from '../../store/delivery.ts';
import type { Appended, NewEvent, Store } from '../../store/store.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Outcome } from './work.ts';

export interface DeliveryControl {
  /** Makes the event durable; it is handled as soon as may be. Rejects as the store's `append` does. */
  accept(event: NewEvent): Promise<Appended>;
  /** Makes rows of the outbox durable that come from no event, all or none; they leave as soon as may be. Rejects the same. */
  post(rows: readonly NewEvent[]): Promise<unknown>;
  /**
   * Resolves when that event has ended or parks, or with undefined after `timeoutMs`; ask before it is accepted. `givenUp` ends the wait.
   * Rejects with OverloadedError when too many wait.
   */
  settled(
    trigger: string,
    id: string,
    timeoutMs: number,
    givenUp?: AbortSignal,
  ): Promise<Settled | undefined>;
  /**
   * Ends an event that is being handled, or is parked, as `ignored`; false for any other. Rejects with UnavailableError where the node
   * that handles it does not answer.
   */
  cancel(id: string, note: string): Promise<boolean>;
  /** Ends an event that waits, is held or dead, as `ignored`, and tells whoever sent it or waits for it; false for any other. */
  discard(id: string, note: string): Promise<boolean>;
  /** Has an event that has ended, or is parked, run again, or with `keepsJournal` go on where it was; false for any other. */
  requeue(id: string, options?: { readonly keepsJournal?: boolean }): Promise<boolean>;
  /**
   * A platform has said of messages that it had taken that they did not arrive: what was sent under these receipts, in a key that
   * begins so, is dead. Gives the ids, undefined where nothing was.
   */
  undeliver(keyPrefix: string, messages: readonly Undelivered[]): Promise<readonly (string | undefined)[]>;
  /** From now on events of that trigger are held, each in its place. */
  pause(trigger: string): Promise<void>;
  /** What was held goes on. */
  resume(trigger: string): Promise<void>;
  isPaused(trigger: string): boolean;
  /** An event is held for that trigger now, which may have been resumed meanwhile: then it is let go. */
  releaseHeld(trigger: string): Promise<void>;
  /** An event of that trigger has ended so. */
  count(trigger: string, kind: Outcome['kind']): void;
  /** A request to the path of that trigger proved nothing. */
  countRefused(trigger: string, refused: RefusedProof): void;
  countsOf(trigger: string): TriggerCounts;
  /** Whoever waits for the end of an event here is told that it goes on. */
  endWaits(): void;
}

export interface LocalDeliveries {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly pauses: Pauses;
  readonly counters: TriggerCounters;
  /** Where other nodes handle events. */
  readonly cancels?: Cancels | undefined;
  /** Takes out of a note what may not be shown (A9). */
  redact(text: string): string;
}

/** Of a gateway whose own process has the store and does the work; of a cluster other nodes do so too. */
export function localDeliveryControl({
  store,
  dispatcher,
  pauses,
  counters,
  cancels,
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
      if (state === 'running' && cancels !== undefined) return cancels.ask(id, note);
      if (state !== 'waiting') return false;
      // It may have been woken meanwhile.
      return (await discard(id, note)) || dispatcher.cancel(id, note);
    },
    discard,
    requeue: (id, options) => store.requeue(id, options),
    undeliver: (keyPrefix, messages) =>
      store.undeliver(
        keyPrefix,
        messages.map(({ receipt, note }) => ({ receipt, note: redact(note) })),
      ),
    pause: (trigger) => pauses.pause(store, trigger),
    resume: (trigger) => pauses.resume(store, trigger),
    isPaused: (trigger) => pauses.has(trigger),
    releaseHeld: (trigger) => pauses.onHeld(store, trigger),
    count: (trigger, kind) => counters.count(trigger, kind),
    countRefused: (trigger, refused) => counters.countRefused(trigger, refused),
    countsOf: (trigger) => counters.of(trigger),
    endWaits: () => dispatcher.endWaits(),
  };
}
