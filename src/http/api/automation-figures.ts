// Statistics of the automation (triggers, targets, deliveries, queues), for GET /stats and the inspector. All
// callers share one query of the store, and each has a deadline: a slow disk must not block the statistics
// that reveal the problem (A8, ARCHITECTURE.md).

import type { TriggerStatus } from '../../../actors/automation/operator/operator.ts';
import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { QueueStats } from '../../../actors/events/inbox/queue-stats.ts';
import type { DeliveryCounts, EventUsage } from '../../../actors/store/delivery.ts';
import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import { sumQueueStats } from './queue-sum.ts';
import type { AutomationStats, TriggerStats } from './stats-shapes.ts';
import { targetStats } from './target-records.ts';

/** Returns a trigger's entry in the statistics. */
export function triggerStats(status: TriggerStatus): TriggerStats {
  const { state, isPaused, blockedBy, counts, connection, circuit } = status;
  const { handled, failed } = counts;
  const states = { connection: connection?.state ?? null, circuit: circuit?.state ?? null };
  return { state, paused: isPaused, blocked_by: blockedBy ?? null, handled, failed, ...states };
}

/** Prefix of the names of outbox queues; the platform follows. */
const OUTBOX_PREFIX = 'outbox/';

type WorkStats = Readonly<Record<string, QueueStats>> & Pick<AutomationStats, 'conversations' | 'outbox'>;

export class AutomationFigures {
  readonly #automation: Pick<RunningAutomation, 'operator' | 'dispatcher' | 'targets' | 'feed'>;
  #query: Promise<DeliveryCounts | null> | undefined;
  #latest: DeliveryCounts | null = null;
  #usage: EventUsage | undefined;

  constructor(automation: Pick<RunningAutomation, 'operator' | 'dispatcher' | 'targets' | 'feed'>) {
    this.#automation = automation;
  }

  /** Returns the statistics of the automation. */
  async stats(timeoutMs: number): Promise<AutomationStats> {
    const deliveries = await this.deliveries(timeoutMs);
    const triggers = this.triggers().map((status) => [status.trigger.name, triggerStats(status)] as const);
    const { loaded, slots } = this.#automation.targets;
    const { agents, fleets, flows } = loaded;
    const countsOf = (kind: TargetKind, all: readonly { readonly name: string }[]) => {
      const { counters } = this.#automation.feed;
      return Object.fromEntries(all.map(({ name }) => [name, targetStats(counters.of({ kind, name }))]));
    };
    return {
      triggers: Object.fromEntries(triggers),
      agents: countsOf('agent', agents),
      fleets: countsOf('fleet', fleets),
      flows: countsOf('flow', flows),
      deliveries,
      limits: this.limits(),
      slots: { model_calls: slots.modelCalls.figures, flow_nodes: slots.flowNodes.figures },
      ...this.queues(),
    };
  }

  /** Returns the usage of the shared limits by setting; without events if the store does not respond. */
  limits(): AutomationStats['limits'] {
    const { targets, dispatcher } = this.#automation;
    const { modelCalls, flowNodes } = targets.slots;
    return {
      ...(this.#usage !== undefined && {
        'deliveries.max_waiting': this.#usage.waiting,
        'deliveries.max_parked': this.#usage.parked,
      }),
      ...dispatcher.limits(),
      'limits.model_calls': modelCalls.usage,
      'limits.flow_nodes': flowNodes.usage,
    };
  }

  triggers(): readonly TriggerStatus[] {
    return this.#automation.operator.triggers();
  }

  /** Returns the statistics of the queues by kind of work, and of the outbox also by platform. */
  queues(): Pick<AutomationStats, 'conversations' | 'outbox' | 'platforms'> {
    const platforms = Object.entries(this.#automation.dispatcher.stats()).flatMap(([name, stats]) =>
      name.startsWith(OUTBOX_PREFIX) ? [[name.slice(OUTBOX_PREFIX.length), stats] as const] : [],
    );
    return { ...this.works(), platforms: Object.fromEntries(platforms) };
  }

  /** Returns the statistics of the queues by kind of work. */
  works(): WorkStats {
    const { conversations, outbox = [], ...others } = this.#automation.dispatcher.statsByParent();
    if (conversations === undefined) throw new Error('the dispatcher has no queue of conversations');
    const kinds = Object.entries({ conversations, outbox, ...others });
    return Object.fromEntries(kinds.map(([name, queues]) => [name, sumQueueStats(queues)])) as WorkStats;
  }

  /** Returns the number of deliveries by state; null if the store fails or exceeds `timeoutMs`. */
  deliveries(timeoutMs: number): Promise<DeliveryCounts | null> {
    this.#query ??= this.#queryCounts().finally(() => {
      this.#query = undefined;
    });
    const query = this.#query;
    return new Promise((resolve) => {
      const deadline = setTimeout(() => {
        this.#latest = null;
        this.#usage = undefined;
        resolve(null);
      }, timeoutMs);
      void query.then((counts) => {
        clearTimeout(deadline);
        resolve(counts);
      });
    });
  }

  /** Result of the last query; null if none was made yet, or if the store did not respond. */
  get latestDeliveries(): DeliveryCounts | null {
    return this.#latest;
  }

  async #queryCounts(): Promise<DeliveryCounts | null> {
    try {
      const { operator } = this.#automation;
      const [counts, usage] = await Promise.all([operator.counts(), operator.usage()]);
      this.#latest = counts;
      this.#usage = usage;
    } catch {
      this.#latest = null;
      this.#usage = undefined;
    }
    return this.#latest;
  }
}
