// Queries that the tracker has refused for good, for an operator: another trigger may take what such a trigger misses, and then no
// record tells of it.
//
// RQ1  each reason of a trigger is told once, until there is another one or the trigger is opened anew.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type Remark, Remarks } from '../remarks.ts';

const MAX_TRIGGERS = 1_000;

export class RefusedQueries {
  readonly #remarks = new Remarks();
  readonly #last = new Map<string, string>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Resets an opened trigger, whose query may be new. */
  begin(trigger: string): void {
    this.#last.delete(trigger);
  }

  note(trigger: string, { cause, message }: DeliveryError): void {
    // Without the issue, which is another one each time.
    const reason = cause instanceof Error ? cause.message : message;
    if (this.#last.get(trigger) === reason) return;
    this.#last.set(trigger, reason);
    forgetOldest(this.#last, MAX_TRIGGERS);
    this.#log.warn({ trigger, reason }, 'the tracker refuses a jql_filter; the trigger takes no issues');
    this.#remarks.add(trigger, `the tracker refuses jql_filter: ${reason}`);
  }

  of(trigger: string): readonly Remark[] {
    return this.#remarks.of(trigger);
  }
}
