// Operations on triggers and deliveries for operators. The API and the CLI use them, so both report the same
// errors.

import { randomUUID } from 'node:crypto';
import type { Flow } from '../../../config/resources/flows/flow.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { describeTriggerSource } from '../../../config/resources/triggers/trigger-source.ts';
import type { TriggerSource } from '../../../config/resources/triggers/trigger-type.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import { type AlarmCode, storeAlarms } from '../../base/alarms/alarm-codes.ts';
import type { Alarms } from '../../base/alarms/alarms.ts';
import { ConflictError, NotFoundError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import type { DeliveryControl } from '../../events/inbox/delivery-control.ts';
import type { CircuitStatus } from '../../events/outbox/circuits.ts';
import { anonymous } from '../../identity/principal.ts';
import type { Adapter } from '../../platforms/adapter.ts';
import type {
  Delivery,
  DeliveryCounts,
  DeliveryFilter,
  DeliveryPage,
  DeliveryState,
  EventUsage,
} from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { LoadedTargets } from '../conversations/handlers.ts';
import { timeLimit } from '../conversations/run-deadline.ts';
import type { TargetRegistry } from '../target-registry.ts';
import type { TriggerCounters, TriggerCounts } from '../triggers/counters.ts';
import type { Pauses } from '../triggers/pauses.ts';
import type { TriggerLife, TriggerRegistry } from '../triggers/registry.ts';
import type { ManualRun } from './manual-run.ts';
import type { ProactiveMessage } from './proactive-message.ts';
import { type ProactiveOrigin, sendProactively } from './proactive-send.ts';
import { type TriggerDetails, triggerDetails } from './trigger-details.ts';

export interface TriggerStatus extends TriggerLife {
  readonly trigger: Trigger;
  readonly isPaused: boolean;
  /** Alarm that prevents the store from accepting the enabled trigger's events. */
  readonly blockedBy: AlarmCode | undefined;
  /** Circuit breaker for messages; undefined if closed. */
  readonly circuit: CircuitStatus | undefined;
  readonly counts: TriggerCounts;
  /** Manual runs need a confirmation. */
  readonly requiresConfirmation: boolean;
  /** Limit per attempt. */
  readonly timeoutSeconds: number;
}

/** A trigger in the list that the CLI prints when the gateway has started. */
export interface TriggerEntry {
  readonly trigger: Trigger;
  /** Describes how events reach the trigger; `url` is the gateway's address. */
  source(url: string): TriggerSource;
}

/** Run result, once the run has finished or parked; `accepted` if it is still running. */
export interface RunResult {
  readonly id: string;
  readonly state: DeliveryState | 'accepted';
  readonly answer: string | null;
  readonly note: string | null;
  readonly waitingFor: string | undefined;
  readonly until: number | undefined;
}

/** Parts of the running automation that the operator uses. */
export interface OperatorHost {
  readonly gateway: { readonly redactor: Redactor; readonly alarms: Pick<Alarms, 'has'> };
  readonly store: Store;
  readonly triggers: Pick<TriggerRegistry, 'all' | 'get' | 'life' | 'mark'>;
  readonly targets: Pick<TargetRegistry, 'loaded'>;
  readonly deliveries: DeliveryControl;
  readonly pauses: Pauses;
  readonly counters: Pick<TriggerCounters, 'of'>;
  /** Retention of finished deliveries, in milliseconds. */
  readonly keepMs: number;
  adapterOf(trigger: Trigger): Adapter;
  /** Returns the circuit breaker of the sending account; undefined if closed. */
  circuitOf(trigger: Trigger): CircuitStatus | undefined;
}

export class Operator {
  readonly #automation: OperatorHost;

  constructor(automation: OperatorHost) {
    this.#automation = automation;
  }

  triggers(): readonly TriggerStatus[] {
    return this.#automation.triggers.all().map((trigger) => this.#statusOf(trigger));
  }

  listTriggers(): readonly TriggerEntry[] {
    const { triggers } = this.#automation;
    return triggers
      .all()
      .map((trigger) => ({ trigger, source: (url) => describeTriggerSource(trigger, url) }));
  }

  trigger(name: string): TriggerStatus {
    return this.#statusOf(this.#find(name));
  }

  /** Returns a trigger's details, also if the store is unavailable. */
  async details(name: string): Promise<TriggerStatus & TriggerDetails> {
    const trigger = this.#find(name);
    const { triggers, store } = this.#automation;
    const adapter = this.#automation.adapterOf(trigger);
    const details = await triggerDetails(trigger, triggers.all(), adapter, store);
    const remarks = details.remarks.map(({ at, text }) => ({ at, text: this.#redact(text) ?? '' }));
    return { ...this.#statusOf(trigger), ...details, remarks };
  }

  get loadedTargets(): LoadedTargets {
    return this.#automation.targets.loaded;
  }

  /** Throws NotFoundError. */
  flow(name: string): Flow {
    const { flows } = this.loadedTargets;
    const flow = flows.find((each) => each.name === name);
    if (flow !== undefined) return flow;
    throw new NotFoundError(`there is no flow ${JSON.stringify(name.slice(0, 64))}; GET /flows lists them`);
  }

  async pause(name: string): Promise<TriggerStatus> {
    const { pauses, store, triggers } = this.#automation;
    this.#find(name);
    await pauses.pause(store, name);
    triggers.mark(name, true);
    return this.trigger(name);
  }

  /**
   * Resumes a trigger. Returns undefined for a removed trigger, which can be resumed too, because its blocked
   * conversations must continue.
   */
  async resume(name: string): Promise<TriggerStatus | undefined> {
    const { pauses, store, triggers } = this.#automation;
    if (!pauses.has(name)) this.#find(name);
    await pauses.resume(store, name);
    triggers.mark(name, false);
    return triggers.get(name) === undefined ? undefined : this.trigger(name);
  }

  /** Runs a trigger of type Manual. With `waitSeconds` the result contains the outcome, if available. */
  async run(name: string, run: ManualRun, trace: string, principal = anonymous): Promise<RunResult> {
    const { deliveries } = this.#automation;
    const trigger = this.#find(name);
    const adapter = this.#automation.adapterOf(trigger);
    if (adapter.manualEvent === undefined)
      throw new ConflictError(
        `${name} is of type ${trigger.type}; only triggers of type Manual can be run manually`,
      );
    if (!trigger.enabled) throw new ConflictError(`${name} is disabled (spec.enabled)`);
    const event = adapter.manualEvent(trigger, run, { id: randomUUID(), trace, principal });
    const waiting = new AbortController();
    const result =
      run.waitSeconds > 0
        ? deliveries.waitUntilSettled(name, event.id, run.waitSeconds * 1000, waiting.signal)
        : undefined;
    // Rejects with an overload before the event is accepted; otherwise a retry would run it twice.
    await Promise.race([result, undefined]);
    try {
      await deliveries.accept(event);
      const delivery = await result;
      const { state = 'accepted', answer = null, note = null, waitingFor, until } = delivery ?? {};
      return { id: event.id, state, answer, note, waitingFor, until };
    } finally {
      // A rejected event never finishes; the abort releases its waiter.
      waiting.abort();
    }
  }

  /** Sends a message that is not a reply; returns the ids of the deliveries. */
  send(name: string, message: ProactiveMessage, origin: ProactiveOrigin): Promise<readonly string[]> {
    const trigger = this.#find(name);
    const { store, deliveries, keepMs } = this.#automation;
    const host = { store, keepMs, post: deliveries.post };
    return sendProactively(host, this.#automation.adapterOf(trigger), trigger, message, origin);
  }

  deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    return this.#automation.store.deliveries(filter);
  }

  /** Returns matches among a bounded number of records, and the start of the next page. */
  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage> {
    return this.#automation.store.deliveryPage(filter);
  }

  usage(): Promise<EventUsage> {
    return this.#automation.store.usage();
  }

  counts(): Promise<DeliveryCounts> {
    return this.#automation.store.counts();
  }

  async delivery(id: string) {
    const delivery = await this.#automation.store.delivery(id);
    if (delivery !== undefined) return delivery;
    throw new NotFoundError(
      `there is no delivery ${JSON.stringify(id.slice(0, 200))}; GET /deliveries lists the deliveries within the retention time`,
    );
  }

  async replay(id: string): Promise<Delivery> {
    const { state } = await this.delivery(id);
    if (!(await this.#automation.deliveries.requeue(id)))
      throw new ConflictError(
        `the delivery is ${state}; only done, dead, ignored or waiting deliveries can be replayed`,
      );
    return this.delivery(id);
  }

  async discard(id: string): Promise<Delivery> {
    const { state } = await this.delivery(id);
    const note = 'discarded by an operator';
    if (!(await this.#automation.deliveries.discard(id, note)))
      throw new ConflictError(
        `the delivery is ${state}; running, done and ignored deliveries cannot be discarded`,
      );
    return this.delivery(id);
  }

  #find(name: string): Trigger {
    const trigger = this.#automation.triggers.get(name);
    if (trigger !== undefined) return trigger;
    throw new NotFoundError(
      `there is no trigger ${JSON.stringify(name.slice(0, 64))}; GET /triggers lists them`,
    );
  }

  #statusOf(trigger: Trigger): TriggerStatus {
    const { triggers, pauses, counters, gateway } = this.#automation;
    const { name } = trigger;
    const { lastError, connection, ...life } = triggers.life(name);
    const circuit = this.#automation.circuitOf(trigger);
    const { byHand } = triggerTypes[trigger.type];
    return {
      ...life,
      lastError: this.#redact(lastError),
      connection: connection && { ...connection, lastError: this.#redact(connection.lastError) },
      circuit: circuit && { ...circuit, lastError: this.#redact(circuit.lastError) ?? '' },
      trigger,
      isPaused: pauses.has(name),
      blockedBy: life.state === 'off' ? undefined : storeAlarms.find((code) => gateway.alarms.has(code)),
      counts: this.#redactCounts(counters.of(name)),
      requiresConfirmation: byHand?.requiresConfirmation(trigger.config) ?? false,
      timeoutSeconds: timeLimit(trigger).seconds,
    };
  }

  #redactCounts({ refused, ...counts }: TriggerCounts): TriggerCounts {
    return { ...counts, refused: refused && { ...refused, text: this.#redact(refused.text) ?? '' } };
  }

  /** Redacts an error text: a platform may repeat parts of the request. */
  #redact(error: string | undefined): string | undefined {
    return error === undefined ? undefined : this.#automation.gateway.redactor.redact(error);
  }
}
