// Deliveries in the inspector: the list, one of them with what came in it, and what an operator does about it. It asks as the
// HTTP API does, and shows less at a time.
//
// DD1  what came from outside (ids apart, by which they are asked for) is redacted and cut before it leaves; that it was cut is told.

import { deliveryFilter } from '../../../actors/automation/operator/delivery-query.ts';
import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Delivery } from '../../../actors/store/delivery.ts';
import { deliveryDetails } from '../../http/api/automation-records.ts';
import type { DeliveryAnswer, DeliveryList, DeliveryRow, DeliveryShown } from '../wire/delivery-wire.ts';

/** Of one page. */
const MAX_SHOWN = 200;
const MAX_KEY = 200;
const MAX_NOTE = 500;
const MAX_TEXT = 20_000;

type Whole = Parameters<typeof deliveryDetails>[0];

export class DeliveryDesk {
  readonly #automation: RunningAutomation;
  readonly #redactor: Redactor;

  constructor(automation: RunningAutomation, redactor: Redactor) {
    this.#automation = automation;
    this.#redactor = redactor;
  }

  /** By the parameters of GET /deliveries. Rejects with InvalidQueryError. */
  async list(query: string): Promise<DeliveryList> {
    const filter = deliveryFilter(query, Date.now());
    const { deliveries, beforeSeq } = await this.#automation.operator.deliveryPage({
      ...filter,
      limit: Math.min(filter.limit, MAX_SHOWN),
    });
    return {
      at: Date.now(),
      deliveries: deliveries.map((delivery) => this.#row(delivery)),
      next_before: beforeSeq ?? null,
    };
  }

  /** Rejects with NotFoundError. */
  async one(id: string): Promise<DeliveryAnswer> {
    const delivery = await this.#automation.operator.delivery(id);
    const run = await this.#automation.store.run(id);
    return { at: Date.now(), delivery: this.#shown(delivery, run !== undefined) };
  }

  /** Rejects with NotFoundError, and with ConflictError in a state that does not allow it. */
  async act(id: string, verb: 'replay' | 'discard'): Promise<DeliveryRow> {
    return this.#row(await this.#automation.operator[verb](id));
  }

  #row(delivery: Delivery): DeliveryRow {
    const { id, seq, state, trigger, key, attempts, receivedAt, endedAt, retryAt } = delivery;
    return {
      ...{ id, seq, state, trigger: trigger ?? null, attempts, received_at: receivedAt },
      conversation: this.#redactor.excerpt(key, MAX_KEY),
      ended_at: endedAt ?? null,
      next_attempt_at: retryAt ?? null,
      waiting_for: this.#text(delivery.waitingFor, MAX_KEY),
      until: delivery.until ?? null,
      note: this.#text(delivery.note, MAX_NOTE),
    };
  }

  #shown(delivery: Whole, hasRun: boolean): DeliveryShown {
    const { kind, crashes, deferrals, attempts, startedAt, answer, receipt, failures } = delivery;
    const { principal, body } = deliveryDetails(delivery);
    const { bytes, text } = body;
    // Its own cut is by bytes.
    const isCut = text !== undefined && Buffer.byteLength(text) < bytes;
    return {
      ...this.#row(delivery),
      ...{ kind, crashes, deferrals, principal, has_run: hasRun },
      // A claim that was no attempt is no start.
      started_at: attempts === 0 ? null : (startedAt ?? null),
      answer: this.#text(answer, MAX_TEXT),
      receipt: this.#text(receipt, MAX_KEY),
      failures: failures.map(({ attempt, at, note }) => {
        return { attempt, at, note: this.#redactor.excerpt(note, MAX_NOTE) };
      }),
      body: {
        bytes,
        text: text === undefined ? null : this.#redactor.excerpt(text, MAX_TEXT, isCut),
        is_cut: isCut || (text?.length ?? 0) > MAX_TEXT,
      },
    };
  }

  #text(text: string | undefined, most: number): string | null {
    return text === undefined ? null : this.#redactor.excerpt(text, most);
  }
}
