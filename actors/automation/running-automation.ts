// The running automation: composes the store, open triggers with their connections, targets (agents, fleets,
// flows), and the dispatcher with all kinds of work. A reload replaces only changed resources; if a resource
// is invalid, it changes nothing.

import { formatProblem, type Problem } from '../../config/reader/problem.ts';
import type { LoadedResources } from '../../config/resources/load-resources.ts';
import type { Trigger } from '../../config/resources/triggers/trigger.ts';
import { platformOf } from '../../config/resources/triggers/trigger-types.ts';
import { supervisorMachine } from '../../machines/supervisor.ts';
import { Approvals, type ApprovalTriggers } from '../agents/approvals/approvals.ts';
import { OperatorApprovals } from '../agents/approvals/operator-approvals.ts';
import { AgentCounters } from '../agents/runs/agent-counters.ts';
import { RunFeed } from '../agents/runs/feed.ts';
import { Runs } from '../agents/runs/runs.ts';
import type { Part } from '../base/supervision/part.ts';
import { stopChildrenOnThrow } from '../base/supervision/stop-children-on-throw.ts';
import { drainSupervisor } from '../base/supervision/supervision.ts';
import { type DeliveryControl, localDeliveryControl } from '../events/inbox/delivery-control.ts';
import { Dispatcher } from '../events/inbox/dispatcher.ts';
import { type CircuitStatus, Circuits } from '../events/outbox/circuits.ts';
import type { GatewayRuntime } from '../gateway/gateway.ts';
import { type Adapter, accountOf, type OpenTrigger } from '../platforms/adapter.ts';
import { type Adapters, makeAdapters } from '../platforms/adapters.ts';
import { LocalLease } from '../platforms/connections/connection-lease.ts';
import { CONNECTIONS, ConnectionRegistry } from '../platforms/connections/connection-registry.ts';
import type { Store } from '../store/store.ts';
import type { ClusterSide, ClusterSideOptions } from './cluster-side.ts';
import type { Routing } from './conversations/routing.ts';
import type { HandlerServices } from './conversations/run-context.ts';
import { Operator } from './operator/operator.ts';
import { FolderWatch } from './reloads/folder-watch.ts';
import { newWarnings } from './reloads/new-warnings.ts';
import { ResourceReloads } from './reloads/resource-reloads.ts';
import type { ResourcesInUse } from './resources-in-use.ts';
import { StoreSweep } from './store-sweep.ts';
import { approvalTriggers, TargetRegistry, type TargetRegistryOptions } from './target-registry.ts';
import { TriggerCounters } from './triggers/counters.ts';
import type { Pauses } from './triggers/pauses.ts';
import { TRIGGERS, type TriggerDifference, TriggerRegistry } from './triggers/registry.ts';
import { type TriggerConnectionObserver, triggerHost } from './triggers/trigger-host.ts';
import { type OpenListener, WebhookListeners } from './triggers/webhook-listeners.ts';
import type { OutboxRouting } from './works/outbox-work.ts';
import { workKinds } from './works/work-kinds.ts';
import { Works } from './works/works.ts';

/** Services of the program that the automation needs. */
export interface AutomationServices extends TargetRegistryOptions {
  readonly gateway: Pick<
    GatewayRuntime,
    'config' | 'log' | 'alarms' | 'redactor' | 'life' | 'mcp' | 'store' | 'audit' | 'node'
  >;
  /** Reads the files after folder changes; errors are in the problems. */
  load(): Promise<LoadedResources>;
  readonly openListener: OpenListener;
  /** Folders to watch for changes; if empty, only requested reloads read the files. */
  readonly watched: readonly string[];
  /** Called with the problems of changed files. */
  readonly onProblems?: ((problems: readonly Problem[]) => void) | undefined;
}

export interface RunningAutomationOptions extends AutomationServices {
  readonly store: Store;
  /** Loaded from the store. */
  readonly pauses: Pauses;
  readonly resources: ResourcesInUse;
  /** Undefined for unshared stores. */
  readonly makeClusterSide: ((options: ClusterSideOptions) => ClusterSide) | undefined;
}

const DAY_MS = 86_400_000;
/**
 * Claim times for a shared store. A claim there is valid only while its node is a member of the cluster. The
 * lease ends claims that their node never received, because the response of the store was lost.
 */
const SHARED_CLAIM = { leaseMs: 10_000, renewMs: 3_000 };
/** Part of the grace period that is reserved for closing the store. */
const CLOSE_MS = 500;

export class RunningAutomation implements Part {
  readonly gateway: RunningAutomationOptions['gateway'];
  readonly store: Store;
  readonly listeners: WebhookListeners;
  readonly feed: RunFeed;
  readonly triggers: TriggerRegistry;
  readonly targets: TargetRegistry;
  readonly deliveries: DeliveryControl;
  readonly pauses: Pauses;
  readonly counters: TriggerCounters;
  readonly dispatcher: Dispatcher;
  readonly operator: Operator;
  readonly runs: Runs;
  readonly approvals: OperatorApprovals;
  readonly #resources: ResourcesInUse;
  readonly #adapters: Adapters;
  readonly #connections: ConnectionRegistry;
  readonly #circuits: Circuits;
  readonly #works: Works;
  readonly #clusterSide: ClusterSide | undefined;
  readonly #sweep: StoreSweep;
  readonly #reloads: ResourceReloads;
  readonly #watches: readonly FolderWatch[];

  constructor(options: RunningAutomationOptions) {
    const { gateway, store, pauses, resources, watched, makeClusterSide } = options;
    const { config, log, redactor, life, mcp, audit } = gateway;
    const { inProcess } = mcp.clients;
    const redact = (text: string) => redactor.redact(text);
    this.gateway = gateway;
    this.store = store;
    this.pauses = pauses;
    this.#resources = resources;
    this.listeners = new WebhookListeners(options.openListener);
    this.targets = new TargetRegistry(options, gateway);
    this.triggers = new TriggerRegistry({
      log,
      open: (trigger, observer) => this.#open(trigger, observer),
      supervisor: () => life.find(TRIGGERS),
    });
    const maxBodyBytes = config.limits.body_bytes;
    this.counters = new TriggerCounters(
      (name, own) => this.#clusterSide?.tallies?.sumOfTrigger(name, own) ?? own,
    );
    const counters = new AgentCounters(
      (target, own) => this.#clusterSide?.tallies?.sumOfTarget(target, own) ?? own,
    );
    this.feed = new RunFeed({ counters });
    this.#adapters = makeAdapters({ maxBodyBytes, store, log });
    this.#clusterSide = makeClusterSide?.({
      store,
      log,
      pauses,
      redact,
      instance: gateway.node.cluster?.instance,
      counters: { triggers: this.counters, targets: counters },
      mark: (name, isPaused) => this.triggers.mark(name, isPaused),
      cancel: (id, note) => this.dispatcher.cancel(id, note),
      platforms: () => this.#platforms(),
    });
    const nodes = this.#clusterSide?.nodes;
    this.#connections = new ConnectionRegistry({
      log,
      supervisor: () => life.find(CONNECTIONS),
      lease: nodes?.lease ?? new LocalLease(),
    });
    const { platforms } = this.#adapters;
    this.#circuits = new Circuits({ log });
    const triggerLookup = approvalTriggers(this.#adapters, this.triggers, this.targets);
    const services = { log, redact, tools: inProcess, audit };
    const kinds = workKinds({
      store,
      platforms,
      circuits: this.#circuits,
      concurrency: config.deliveries.concurrency,
      routing: this.#routing(triggerLookup, services),
      ...(nodes === undefined ? {} : { gateOf: nodes.gateOf }),
    });
    this.#works = new Works({ store, kinds, maxBodyBytes });
    const { queues } = this.#works;
    const times = store.cluster === undefined ? {} : SHARED_CLAIM;
    const logic = stopChildrenOnThrow(supervisorMachine);
    life.spawn(CONNECTIONS, logic, this.#connections.supervisorInput());
    life.spawn(TRIGGERS, logic, this.triggers.supervisorInput());
    // No event is handled until this constructor returns.
    const dispatcher = new Dispatcher({ life, store, log, redact, queues, listener: this.feed, ...times });
    this.dispatcher = dispatcher;
    const cancelRemote = nodes && ((id: string, note: string) => nodes.cancels.request(id, note));
    this.deliveries = localDeliveryControl({ store, dispatcher, cancelRemote, redact });
    this.operator = new Operator(this);
    this.runs = new Runs(this);
    const approvals = new Approvals({ store, triggerLookup, ...services });
    this.approvals = new OperatorApprovals({ store, gateway, approvals });
    this.#reloads = new ResourceReloads({
      log,
      load: options.load,
      current: () => resources.current,
      apply: (next) => this.#apply(next),
      ...{ onProblems: options.onProblems, audit },
    });
    for (const problem of resources.current.problems) log.warn({}, formatProblem(problem));
    this.#use(resources.current);
    this.#sweep = new StoreSweep({
      store,
      log,
      keepMs: this.keepMs,
      adapters: this.#adapters.all,
      typeOf: (name) => this.triggers.get(name)?.type,
    });
    this.#watches = watched.map((folder) => new FolderWatch(folder, () => void this.#reloads.onChanged()));
    gateway.store.onLateOpen(() => this.#markPaused());
  }

  /** Retention of the records of finished events, in milliseconds. */
  get keepMs(): number {
    return this.gateway.config.deliveries.retention_days * DAY_MS;
  }

  adapterOf(trigger: Trigger): Adapter {
    return this.#adapters.ofType(trigger.type);
  }

  /** Returns the state of the account's circuit breaker; undefined if closed or unused. */
  circuitOf(trigger: Trigger): CircuitStatus | undefined {
    const adapter = this.adapterOf(trigger);
    if (adapter.outbound === undefined) return undefined;
    const { platform, account } = accountOf(adapter, trigger);
    return this.#circuits.status(`${platform}/${account}`);
  }

  /**
   * Marks the paused triggers when the store opens late. If the disk was full at the start, the triggers have
   * opened before the store, and so before the pauses were read.
   */
  #markPaused(): void {
    for (const { name } of this.triggers.all()) if (this.pauses.has(name)) this.triggers.mark(name, true);
  }

  async drain(graceMs: number): Promise<void> {
    const endsAt = performance.now() + graceMs - CLOSE_MS;
    const { life } = this.gateway;
    this.#sweep.end();
    this.#clusterSide?.close();
    for (const watch of this.#watches) watch.close();
    this.endWaits();
    await drainSupervisor(life.find(TRIGGERS));
    await drainSupervisor(life.find(CONNECTIONS));
    await this.listeners.end();
    this.#works.close();
    await this.dispatcher.drain(Math.max(0, endsAt - performance.now()));
    await this.#clusterSide?.end();
    this.targets.close();
  }

  /** Responds to requests that wait for results; their events are already stored. */
  endWaits(): void {
    this.feed.close();
    this.dispatcher.endWaits();
  }

  /**
   * Applies the changed resources of `load`, and returns the result of `applyRest`. If `reload` rejects with
   * ConfigError, nothing has changed.
   */
  reload<T>(
    load: () => Promise<LoadedResources>,
    applyRest: (difference: TriggerDifference) => Promise<T>,
  ): Promise<T> {
    return this.#reloads.reload(load, applyRest);
  }

  #apply(next: LoadedResources): TriggerDifference {
    const { log } = this.gateway;
    const { problems } = this.#resources.current;
    this.#resources.replace(next);
    for (const problem of newWarnings(problems, next.problems)) log.warn({}, formatProblem(problem));
    const difference = this.#use(next);
    log.info({ ...difference }, 'triggers reloaded');
    return difference;
  }

  #use(resources: LoadedResources): TriggerDifference {
    this.targets.use(resources);
    const difference = this.triggers.apply(resources.triggers, (name) => this.pauses.has(name));
    this.#works.recheckQueued();
    this.#clusterSide?.nodes.publishChange();
    return difference;
  }

  #routing(triggerLookup: ApprovalTriggers, services: HandlerServices): Routing & OutboxRouting {
    const { triggers, feed, targets } = this;
    return {
      ...triggerLookup,
      feed,
      services,
      isPaused: (name) => this.pauses.has(name),
      onHeld: (name) => void this.#onHeld(name),
      handlerOf: (target) => targets.handlerOf(target),
      attemptSecondsOf: (target) => targets.builtInTriggerOf(target)?.timeout_seconds,
      loaded: () => targets.loaded,
      stop: (id, note) => this.#stop(id, note),
      discard: (id, note) => this.deliveries.discard(id, note),
      count: (trigger, kind) => this.counters.count(trigger, kind),
      get longestTimeoutMs() {
        return Math.max(triggers.longestTimeoutMs, targets.longestTimeoutMs);
      },
    };
  }

  async #stop(id: string, note: string): Promise<boolean> {
    return (await this.deliveries.cancel(id, note)) || this.deliveries.discard(id, note);
  }

  async #onHeld(trigger: string): Promise<void> {
    try {
      await this.pauses.onHeld(this.store, trigger);
    } catch (error) {
      const reason = (error as Error).message;
      this.gateway.log.error(
        { trigger, reason },
        'could not release held deliveries; resume the trigger again',
      );
    }
  }

  #open(trigger: Trigger, observer: TriggerConnectionObserver): Promise<OpenTrigger> {
    const { store, deliveries, counters, listeners, gateway } = this;
    const connections = this.#connections;
    const adapter = this.adapterOf(trigger);
    const services = { store, deliveries, counters, listeners, connections, log: gateway.log };
    const account = () => accountOf(adapter, trigger);
    const host = triggerHost(services, observer, { name: trigger.name, account });
    return adapter.open(trigger, host);
  }

  /** Returns the platforms of enabled triggers. */
  #platforms(): ReadonlySet<string> {
    const enabledTriggers = this.triggers.all().filter(({ enabled }) => enabled);
    return new Set(enabledTriggers.map(({ type }) => platformOf(type)));
  }
}
