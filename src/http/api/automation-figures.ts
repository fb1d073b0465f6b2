// Statistics of triggers and deliveries, for GET /stats and for the inspector.
//
// AG1  at most one query of these runs in the store at a time, however many callers ask, and each caller has a deadline of its
//      own: a slow disk must not block the statistics that show it (A8).

import type { TriggerStatus } from '../../../actors/automation/operator/operator.ts';
import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { QueueStats } from '../../../actors/events/inbox/queue-stats.ts';
import type { DeliveryCounts } from '../../../actors/store/delivery.ts';
import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import { statsTogether } from './queue-sum.ts';
import type { AutomationStats, TriggerStats } from './stats-shapes.ts';
import { targetStats } from './target-records.ts';

/** One trigger in GET /stats. */
export function triggerStats({ state, isPaused, counts, connection, circuit }: TriggerStatus): TriggerStats {
  const { handled, failed } = counts;
  const states = { connection: connection?.state ?? null, circuit: circuit?.state ?? null };
  return { state, paused: isPaused, handled, failed, ...states };
}

/** Names of the queues of platforms begin so. */
const OUTBOX = 'outbox/';

type Works = Readonly<Record<string, QueueStats>> & Pick<AutomationStats, 'conversations' | 'outbox'>;

export class AutomationFigures {
  readonly #automation: Pick<RunningAutomation, 'operator' | 'dispatcher' | 'targets' | 'feed'>;
  #asking: Promise<DeliveryCounts | null> | undefined;
  #latest: DeliveryCounts | null = null;

  constructor(automation: Pick<RunningAutomation, 'operator' | 'dispatcher' | 'targets' | 'feed'>) {
    this.#automation = automation;
  }

  /** What GET /stats adds where there are triggers. */
  async stats(timeoutMs: number): Promise<AutomationStats> {
    const deliveries = await this.deliveries(timeoutMs);
    const triggers = this.triggers().map((status) => [status.trigger.name, triggerStats(status)] as const);
    const { agents, fleets, flows } = this.#automation.targets.loaded;
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
      ...this.queues(),
    };
  }

  triggers(): readonly TriggerStatus[] {
    return this.#automation.operator.triggers();
  }

  /** Each kind of work under the name of its actor, and the outbox by platform as well. */
  queues(): Pick<AutomationStats, 'conversations' | 'outbox' | 'platforms'> {
    const platforms = Object.entries(this.#automation.dispatcher.stats()).flatMap(([name, stats]) =>
      name.startsWith(OUTBOX) ? [[name.slice(OUTBOX.length), stats] as const] : [],
    );
    return { ...this.works(), platforms: Object.fromEntries(platforms) };
  }

  /** The figures of all that stands under one actor together. Whatever kinds are registered are here. */
  works(): Works {
    const { conversations, outbox = [], ...others } = this.#automation.dispatcher.statsByParent();
    if (conversations === undefined) throw new Error('the dispatcher has no queue of conversations');
    const kinds = Object.entries({ conversations, outbox, ...others });
    return Object.fromEntries(kinds.map(([name, queues]) => [name, statsTogether(queues)])) as Works;
  }

  /** How many deliveries are in each state; null when the store cannot tell, or not within `timeoutMs`. */
  deliveries(timeoutMs: number): Promise<DeliveryCounts | null> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    const asking = this.#asking;
    return new Promise((resolve) => {
      const deadline = setTimeout(() => {
        this.#latest = null;
        resolve(null);
      }, timeoutMs);
      void asking.then((counts) => {
        clearTimeout(deadline);
        resolve(counts);
      });
    });
  }

  /** As the last question was answered; null before the first, and while the store is silent. */
  get latestDeliveries(): DeliveryCounts | null {
    return this.#latest;
  }

  async #ask(): Promise<DeliveryCounts | null> {
    try {
      this.#latest = await this.#automation.operator.counts();
    } catch {
      this.#latest = null;
    }
    return this.#latest;
  }
}
