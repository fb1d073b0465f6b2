// Metrics and log of a work queue: outcomes and durations of runs. It also notifies waiting callers
// (`DeliveryWaits`). It never logs event content (A9, ARCHITECTURE.md).

import type { Log } from '../../base/errors/log.ts';
import { Latency } from '../../mcp/servers/calls/latency.ts';
import { INBOUND, type NewEvent, type StoredEvent } from '../../store/event.ts';
import type { TurnResult } from '../../store/store.ts';
import type { DeliveryOutcome } from './delivery-outcome.ts';
import type { DeliveryWaits } from './delivery-waits.ts';
import type { QueueFigures } from './queue-stats.ts';

/** Part of the mailbox that the metrics need. */
export interface MeasuredMailbox {
  readonly key: string;
  readonly event: StoredEvent;
  /** Duration of the run. */
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

  readFigures(): QueueFigures {
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

  /** Records a committed result; `next` is the next event under the same claim. */
  noteCommit(mailbox: MeasuredMailbox, result: TurnResult, next?: StoredEvent): void {
    const log = this.#log;
    this.#latency.note(mailbox.tookMs);
    switch (result.outcome) {
      case 'done':
        this.#done += 1;
        this.#logEnd(mailbox, result);
        break;
      case 'ignored':
        this.#ignored += 1;
        this.#logEnd(mailbox, result);
        break;
      case 'held':
        this.#held += 1;
        log.debug(fieldsOf(mailbox, result), 'delivery is held: its trigger is paused');
        this.#notifyDeferred(mailbox);
        return;
      case 'checkpoint':
        return;
      case 'parked':
        log.debug({ ...fieldsOf(mailbox, result), waiting_for: result.parkedOn }, 'delivery is parked');
        // The waking event arrived first: the parked event continues immediately.
        if (next?.seq !== result.seq) this.#deliveryWaits.settle(mailbox.event.id, parkedOutcome(result));
        return;
      case 'deferred':
        this.#deferred += 1;
        log.debug(fieldsOf(mailbox, result), 'delivery deferred: the receiver accepts no more for now');
        this.#notifyDeferred(mailbox);
        return;
      case 'queued':
        if (result.heldBy === undefined)
          log.info(fieldsOf(mailbox, result), 'delivery was returned to the queue: the gateway is stopping');
        else log.debug(fieldsOf(mailbox, result), 'delivery deferred: no free slot');
        this.#notifyDeferred(mailbox);
        return;
      case 'retrying':
        this.#retried += 1;
        log.warn(fieldsOf(mailbox, result), 'delivery failed; retrying');
        this.#notifyDeferred(mailbox);
        return;
      case 'dead':
        this.#dead += 1;
        log.error(fieldsOf(mailbox, result), 'delivery is dead: no further attempts');
    }
    const { outcome: state, answer, note } = result;
    this.#deliveryWaits.settle(mailbox.event.id, { state, answer, note });
  }

  /** Logs inbound events at info level; messages and timers, which are as numerous, at debug level. */
  #logEnd(mailbox: MeasuredMailbox, result: TurnResult): void {
    const fields = { ...fieldsOf(mailbox, result), answered_by: result.by };
    if (isFromOutside(mailbox.event)) this.#log.info(fields, 'delivery ended');
    else this.#log.debug(fields, 'delivery ended');
  }

  #notifyDeferred({ event }: MeasuredMailbox): void {
    this.#deliveryWaits.notifyDeferred(event.id);
  }

  noteLoss(mailbox: MeasuredMailbox): void {
    this.#lost += 1;
    this.#log.warn(fieldsOf(mailbox), 'lost the claim on a conversation; its event will be handled again');
  }

  noteZombie(mailbox: MeasuredMailbox): void {
    this.#log.error(fieldsOf(mailbox), 'a handler ignores its abort signal; its conversation waits for it');
  }

  noteMissingNotice(mailbox: MeasuredMailbox, reason: string): void {
    this.#log.error({ ...fieldsOf(mailbox), reason }, 'could not notify the sender of an event');
  }

  noteFault(mailbox: MeasuredMailbox, reason: string): void {
    this.#log.error({ ...fieldsOf(mailbox), reason }, 'internal error in a turn of a conversation');
  }
}

/** Returns true for events from platforms, schedules and persons; false for outbox messages and timers. */
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

function parkedOutcome({ parkedOn, note, timers = [] }: TurnResult): DeliveryOutcome {
  const delays = timers.flatMap(({ inMs, event }) => (event.wakes === parkedOn ? [inMs] : []));
  const until = delays.length === 0 ? undefined : Date.now() + Math.min(...delays);
  return { state: 'waiting', answer: undefined, note, waitingFor: parkedOn, until };
}
