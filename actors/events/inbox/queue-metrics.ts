// Metrics and log of one work queue: what became of its turns, and how long they took. It also tells the requests that
// wait for the end of a delivery. It never contains what was in an event (A9).

import type { Log } from '../../base/errors/log.ts';
import { Latency } from '../../mcp/servers/calls/latency.ts';
import { INBOUND, type NewEvent, type StoredEvent } from '../../store/event.ts';
import type { TurnResult } from '../../store/store.ts';
import type { DeliveryWaits } from './delivery-waits.ts';
import type { QueueFigures } from './queue-stats.ts';
import type { Settled } from './settled.ts';

/** A mailbox with a turn. */
export interface MeasuredMailbox {
  readonly key: string;
  readonly event: StoredEvent;
  /** Duration of the turn's run. */
  readonly tookMs: number;
}

export class QueueMetrics {
  readonly #log: Log;
  readonly #deliveryWaits: DeliveryWaits;
  readonly #latency = new Latency();
  #done = 0;
  #ignored = 0;
  #held = 0;
  #deferred = 0;
  #retried = 0;
  #dead = 0;
  #lost = 0;

  constructor(log: Log, deliveryWaits: DeliveryWaits) {
    this.#log = log;
    this.#deliveryWaits = deliveryWaits;
  }

  figures(): QueueFigures {
    const { p50, p95 } = this.#latency.read();
    const failed = this.#retried + this.#dead;
    return {
      handled: failed + this.#done + this.#ignored + this.#held,
      done: this.#done,
      ignored: this.#ignored,
      held: this.#held,
      deferred: this.#deferred,
      failed,
      retried: this.#retried,
      dead: this.#dead,
      lost: this.#lost,
      duration_ms: { p50, p95 },
    };
  }

  /** The store has taken the result of the mailbox's turn; `next` is the turn after it, under the same claim. */
  committed(mailbox: MeasuredMailbox, result: TurnResult, next?: StoredEvent): void {
    const log = this.#log;
    this.#latency.note(mailbox.tookMs);
    switch (result.outcome) {
      case 'done':
        this.#done += 1;
        this.#ended(mailbox, result);
        break;
      case 'ignored':
        this.#ignored += 1;
        this.#ended(mailbox, result);
        break;
      case 'held':
        this.#held += 1;
        log.debug(fieldsOf(mailbox, result), 'delivery is held: its trigger is paused');
        this.#putOff(mailbox);
        return;
      case 'checkpoint':
        return;
      case 'parked':
        log.debug({ ...fieldsOf(mailbox, result), waiting_for: result.parkedOn }, 'delivery is parked');
        // What had come before it has woken it at once.
        if (next?.seq !== result.seq) this.#deliveryWaits.settle(mailbox.event.id, parkedAs(result));
        return;
      case 'deferred':
        this.#deferred += 1;
        log.debug(fieldsOf(mailbox, result), 'delivery waits: the other side takes no more for now');
        this.#putOff(mailbox);
        return;
      case 'queued':
        if (result.heldBy === undefined)
          log.info(fieldsOf(mailbox, result), 'delivery was given back: the gateway stops');
        else log.debug(fieldsOf(mailbox, result), 'delivery waits for a place');
        this.#putOff(mailbox);
        return;
      case 'retrying':
        this.#retried += 1;
        log.warn(fieldsOf(mailbox, result), 'delivery failed; it is tried again after a pause');
        this.#putOff(mailbox);
        return;
      case 'dead':
        this.#dead += 1;
        log.error(fieldsOf(mailbox, result), 'delivery is dead: it is not tried again');
    }
    const { outcome: state, answer, note } = result;
    this.#deliveryWaits.settle(mailbox.event.id, { state, answer, note });
  }

  /** Of what came from outside everybody wants to know; messages and timers are as many again. */
  #ended(mailbox: MeasuredMailbox, result: TurnResult): void {
    const fields = { ...fieldsOf(mailbox, result), answered_by: result.by };
    if (isFromOutside(mailbox.event)) this.#log.info(fields, 'delivery ended');
    else this.#log.debug(fields, 'delivery ended');
  }

  #putOff({ event }: MeasuredMailbox): void {
    this.#deliveryWaits.putOff(event.id);
  }

  lost(mailbox: MeasuredMailbox): void {
    this.#lost += 1;
    this.#log.warn(fieldsOf(mailbox), 'the claim on a conversation was lost; its event comes again');
  }

  overrun(mailbox: MeasuredMailbox): void {
    this.#log.error(
      fieldsOf(mailbox),
      'a handler goes on although it was told to end; its conversation waits for it',
    );
  }

  unsaid(mailbox: MeasuredMailbox, reason: string): void {
    this.#log.error({ ...fieldsOf(mailbox), reason }, 'nobody could be told what becomes of an event');
  }

  fault(mailbox: MeasuredMailbox, reason: string): void {
    this.#log.error({ ...fieldsOf(mailbox), reason }, 'a turn of a conversation failed by a fault');
  }
}

/** An event of a platform, a schedule or a person, as against what they make the gateway send or do later. */
function isFromOutside({ key, kind = INBOUND }: Pick<NewEvent, 'key' | 'kind'>): boolean {
  return kind === INBOUND && key.startsWith('conversation/');
}

function fieldsOf(mailbox: MeasuredMailbox, result?: TurnResult): object {
  const { id, attempt, trace } = mailbox.event;
  if (result === undefined) return { delivery: id, key: mailbox.key, attempt, traceparent: trace };
  return {
    delivery: id,
    key: mailbox.key,
    attempt,
    traceparent: trace,
    outcome: result.outcome,
    trigger: result.trigger,
    reason: result.note,
    in_ms: result.retryInMs,
    duration_ms: Math.round(mailbox.tookMs * 1000) / 1000,
  };
}

function parkedAs({ parkedOn, note, timers = [] }: TurnResult): Settled {
  const waits = timers.flatMap(({ inMs, event }) => (event.wakes === parkedOn ? [inMs] : []));
  const until = waits.length === 0 ? undefined : Date.now() + Math.min(...waits);
  return { state: 'waiting', answer: undefined, note, waitingFor: parkedOn, until };
}
