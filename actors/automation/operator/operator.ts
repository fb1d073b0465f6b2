// The operations on triggers and deliveries for an operator. The API and the commands go through here, so that both get
// the same errors.

import { randomUUID } from 'node:crypto';
import type { Flow } from '../../../config/resources/flows/flow.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { WayIn } from '../../../config/resources/triggers/trigger-type.ts';
import { triggerTypes } from '../../../config/resources/triggers/trigger-types.ts';
import { wayInTo } from '../../../config/resources/triggers/way-in.ts';
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
} from '../../store/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { Answering } from '../conversations/handlers.ts';
import { timeLimit } from '../conversations/run-deadline.ts';
import type { TargetRegistry } from '../target-registry.ts';
import type { Pauses } from '../triggers/pauses.ts';
import type { TriggerCounters, TriggerCounts } from '../triggers/trigger-counters.ts';
import type { TriggerLife, TriggerRegistry } from '../triggers/trigger-registry.ts';
import type { ManualRun } from './manual-run.ts';
import type { ProactiveMessage } from './proactive-message.ts';
import { type ProactiveOrigin, sendProactively } from './proactive-send.ts';
import { type TriggerDetails, triggerDetails } from './trigger-details.ts';

export interface TriggerStatus extends TriggerLife {
  readonly trigger: Trigger;
  readonly isPaused: boolean;
  /** Of sending its answers; undefined while nothing is wrong. */
  readonly circuit: CircuitStatus | undefined;
  readonly counts: TriggerCounts;
  /** Whoever runs it by hand has to confirm that. */
  readonly requiresConfirmation: boolean;
  /** For one attempt. */
  readonly timeoutSeconds: number;
}

/** A trigger for whoever looks at the terminal after the start. */
export interface ShownTrigger {
  readonly trigger: Trigger;
  /** `url` is that of the gateway. */
  wayIn(url: string): WayIn;
}

/** How a run has ended, or that it has parked; `accepted` where it has done neither yet. */
export interface RunResult {
  readonly id: string;
  readonly state: DeliveryState | 'accepted';
  readonly answer: string | null;
  readonly note: string | null;
  readonly waitingFor: string | undefined;
  readonly until: number | undefined;
}

/** The running automation, as far as the operator needs it. */
export interface OperatorHost {
  readonly gateway: { readonly redactor: Redactor };
  readonly store: Store;
  readonly triggers: Pick<TriggerRegistry, 'all' | 'get' | 'life' | 'mark'>;
  readonly targets: Pick<TargetRegistry, 'loaded'>;
  readonly deliveries: DeliveryControl;
  readonly pauses: Pauses;
  readonly counters: Pick<TriggerCounters, 'of'>;
  /** Retention time of ended deliveries. */
  readonly keepMs: number;
  adapterOf(trigger: Trigger): Adapter;
  /** Returns the circuit of the account that sends the trigger's answers, while it is open. */
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

  shownTriggers(): readonly ShownTrigger[] {
    const { triggers } = this.#automation;
    return triggers.all().map((trigger) => ({ trigger, wayIn: (url) => wayInTo(trigger, url) }));
  }

  trigger(name: string): TriggerStatus {
    return this.#statusOf(this.#named(name));
  }

  /** Never rejects for a store that does not answer. */
  async details(name: string): Promise<TriggerStatus & TriggerDetails> {
    const trigger = this.#named(name);
    const { triggers, store } = this.#automation;
    const adapter = this.#automation.adapterOf(trigger);
    const details = await triggerDetails(trigger, triggers.all(), adapter, store);
    const remarks = details.remarks.map(({ at, text }) => ({ at, text: this.#shown(text) ?? '' }));
    return { ...this.#statusOf(trigger), ...details, remarks };
  }

  get answering(): Answering {
    return this.#automation.targets.loaded;
  }

  /** Throws NotFoundError. */
  flow(name: string): Flow {
    const { flows } = this.answering;
    const flow = flows.find((each) => each.name === name);
    if (flow !== undefined) return flow;
    throw new NotFoundError(`there is no flow ${JSON.stringify(name.slice(0, 64))}; GET /flows lists them`);
  }

  async pause(name: string): Promise<TriggerStatus> {
    const { pauses, store, triggers } = this.#automation;
    this.#named(name);
    await pauses.pause(store, name);
    triggers.mark(name, true);
    return this.trigger(name);
  }

  /** One that was paused and is gone can be resumed too: what it holds would hold up its conversations. Undefined then. */
  async resume(name: string): Promise<TriggerStatus | undefined> {
    const { pauses, store, triggers } = this.#automation;
    if (!pauses.has(name)) this.#named(name);
    await pauses.resume(store, name);
    triggers.mark(name, false);
    return triggers.get(name) === undefined ? undefined : this.trigger(name);
  }

  /** Runs a trigger of type Manual; with `waitSeconds` it tells how that ended, if it did. */
  async run(name: string, run: ManualRun, trace: string, principal = anonymous): Promise<RunResult> {
    const { deliveries } = this.#automation;
    const trigger = this.#named(name);
    const adapter = this.#automation.adapterOf(trigger);
    if (adapter.runByHand === undefined)
      throw new ConflictError(
        `${name} is of type ${trigger.type}; only triggers of type Manual are run by hand`,
      );
    if (!trigger.enabled) throw new ConflictError(`${name} is switched off (spec.enabled)`);
    const event = adapter.runByHand(trigger, run, { id: randomUUID(), trace, principal });
    const waiting = new AbortController();
    const settled =
      run.waitSeconds > 0
        ? deliveries.settled(name, event.id, run.waitSeconds * 1000, waiting.signal)
        : undefined;
    // Where too many wait already this must be known before anything is accepted: the caller will try again.
    await Promise.race([settled, undefined]);
    try {
      await deliveries.accept(event);
      const ended = await settled;
      const { state = 'accepted', answer = null, note = null, waitingFor, until } = ended ?? {};
      return { id: event.id, state, answer, note, waitingFor, until };
    } finally {
      // Of what was refused no end comes: the place of the wait is for others.
      waiting.abort();
    }
  }

  /** Has a message sent that answers nothing; gives the ids of its deliveries. */
  send(name: string, message: ProactiveMessage, origin: ProactiveOrigin): Promise<readonly string[]> {
    const trigger = this.#named(name);
    const { store, deliveries, keepMs } = this.#automation;
    const host = { store, keepMs, post: deliveries.post };
    return sendProactively(host, this.#automation.adapterOf(trigger), trigger, message, origin);
  }

  deliveries(filter: DeliveryFilter): Promise<readonly Delivery[]> {
    return this.#automation.store.deliveries(filter);
  }

  /** What is found among a bounded number of records, and where to go on. */
  deliveryPage(filter: DeliveryFilter): Promise<DeliveryPage> {
    return this.#automation.store.deliveryPage(filter);
  }

  counts(): Promise<DeliveryCounts> {
    return this.#automation.store.counts();
  }

  async delivery(id: string) {
    const delivery = await this.#automation.store.delivery(id);
    if (delivery !== undefined) return delivery;
    throw new NotFoundError(
      `there is no delivery ${JSON.stringify(id.slice(0, 200))}; GET /deliveries lists them, and their records end with the retention time`,
    );
  }

  async replay(id: string): Promise<Delivery> {
    const { state } = await this.delivery(id);
    if (!(await this.#automation.deliveries.requeue(id)))
      throw new ConflictError(
        `the delivery is ${state}; only one that is done, dead, ignored or waiting can run again`,
      );
    return this.delivery(id);
  }

  async discard(id: string): Promise<Delivery> {
    const { state } = await this.delivery(id);
    const note = 'discarded by an operator';
    if (!(await this.#automation.deliveries.discard(id, note)))
      throw new ConflictError(
        `the delivery is ${state}; only one that waits, is held or dead can be discarded`,
      );
    return this.delivery(id);
  }

  #named(name: string): Trigger {
    const trigger = this.#automation.triggers.get(name);
    if (trigger !== undefined) return trigger;
    throw new NotFoundError(
      `there is no trigger ${JSON.stringify(name.slice(0, 64))}; GET /triggers lists them`,
    );
  }

  #statusOf(trigger: Trigger): TriggerStatus {
    const { triggers, pauses, counters } = this.#automation;
    const { name } = trigger;
    const { lastError, connection, ...life } = triggers.life(name);
    const circuit = this.#automation.circuitOf(trigger);
    const { byHand } = triggerTypes[trigger.type];
    return {
      ...life,
      lastError: this.#shown(lastError),
      connection: connection && { ...connection, lastError: this.#shown(connection.lastError) },
      circuit: circuit && { ...circuit, lastError: this.#shown(circuit.lastError) ?? '' },
      trigger,
      isPaused: pauses.has(name),
      counts: this.#shownCounts(counters.of(name)),
      requiresConfirmation: byHand?.requiresConfirmation(trigger.config) ?? false,
      timeoutSeconds: timeLimit(trigger).seconds,
    };
  }

  #shownCounts({ refused, ...counts }: TriggerCounts): TriggerCounts {
    return { ...counts, refused: refused && { ...refused, text: this.#shown(refused.text) ?? '' } };
  }

  /** What a platform says of a failure may repeat what it was sent (A9). */
  #shown(error: string | undefined): string | undefined {
    return error === undefined ? undefined : this.#automation.gateway.redactor.redact(error);
  }
}
