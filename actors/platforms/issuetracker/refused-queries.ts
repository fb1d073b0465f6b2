// Reports refused queries to operators, because the event's record does not show them if another trigger
// accepts the event. Each reason is reported once per trigger, until it changes or the trigger reopens.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type Diagnostic, Diagnostics } from '../diagnostics.ts';

const MAX_TRIGGERS = 1_000;

export class RefusedQueries {
  readonly #diagnostics = new Diagnostics();
  readonly #lastReasons = new Map<string, string>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Forgets the reported reason of a trigger that opens, because its query may be new. */
  begin(trigger: string): void {
    this.#lastReasons.delete(trigger);
  }

  report(trigger: string, { cause, message }: DeliveryError): void {
    // The cause does not contain the issue, which differs each time.
    const reason = cause instanceof Error ? cause.message : message;
    if (this.#lastReasons.get(trigger) === reason) return;
    this.#lastReasons.set(trigger, reason);
    deleteOldest(this.#lastReasons, MAX_TRIGGERS);
    this.#log.warn({ trigger, reason }, 'the tracker refuses jql_filter; the trigger accepts no issues');
    this.#diagnostics.add(trigger, `the tracker refuses jql_filter: ${reason}`);
  }

  of(trigger: string): readonly Diagnostic[] {
    return this.#diagnostics.of(trigger);
  }
}
