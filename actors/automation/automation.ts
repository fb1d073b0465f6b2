// The automation: the open triggers, who answers, their connections, and the dispatcher with its kinds of work. A part of the gateway, booted
// before the front, so that no webhook comes before its trigger is loaded, and drained after it.
//
// AU1  a reload changes what differs and nothing else; resources with an error leave everything as it was.
// AU2  what is accepted while the gateway stops is kept for the next start: its store is closed after this (STP2).

import type { AnyActorRef } from 'xstate';
import { resourcesPrint } from '../../config/config-hash.ts';
import { formatProblem } from '../../config/reader/problem.ts';
import { type CallGuard, findCallGuard } from '../../config/resources/call-guards.ts';
import type { LoadedResources } from '../../config/resources/load-resources.ts';
import type { Trigger } from '../../config/resources/triggers/trigger.ts';
import { platformOf } from '../../config/resources/triggers/trigger-types.ts';
import { supervisorMachine } from '../../machines/supervisor.ts';
import { type ApprovalPlaces, Approvals } from '../agents/approvals/approvals.ts';
import { OperatorApprovals, type OperatorApprovalsHost } from '../agents/approvals/operator-approvals.ts';
import { RunFeed } from '../agents/runs/run-feed.ts';
import { Runs } from '../agents/runs/runs.ts';
import { guarded } from '../base/supervision/guarded.ts';
import { drainSupervisor } from '../base/supervision/supervision.ts';
import { type DeliveryControl, localDeliveryControl } from '../events/inbox/delivery-control.ts';
import { Dispatcher } from '../events/inbox/dispatcher.ts';
import { type CircuitStatus, Circuits } from '../events/outbox/circuits.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Part, RootRef } from '../gateway/life.ts';
import { InProcessClient } from '../mcp/clients/in-process-client.ts';
import { type Adapter, accountOf, type OpenTrigger } from '../platforms/adapter.ts';
import { type Adapters, makeAdapters } from '../platforms/adapters.ts';
import { type ConnectionLease, LocalLease } from '../platforms/connections/connection-lease.ts';
import { CONNECTIONS, ConnectionRegistry } from '../platforms/connections/connection-registry.ts';
import type { Cluster, ClusterMembership } from '../store/membership.ts';
import type { Store } from '../store/store.ts';
import { approvalPlaces } from './approval-places.ts';
import type { Routing } from './conversations/routing.ts';
import type { HandlerServices } from './conversations/run-context.ts';
import { Operator } from './operator/operator.ts';
import { FolderWatch } from './reloads/folder-watch.ts';
import { newWarnings } from './reloads/new-warnings.ts';
import { ResourceReloads } from './reloads/resource-reloads.ts';
import type { SeveralNodes } from './several-nodes.ts';
import { StoreSweep } from './store-sweep.ts';
import type { ClusterTallies } from './tallies/cluster-tallies.ts';
import { TargetRegistry, type TargetRegistryOptions } from './target-registry.ts';
import type { PauseFollower } from './triggers/pause-follower.ts';
import { Pauses } from './triggers/pauses.ts';
import { type ConnectionObserver, sourceHost } from './triggers/source-host.ts';
import { TriggerCounters } from './triggers/trigger-counters.ts';
import { TRIGGERS, type TriggerDifference, TriggerRegistry } from './triggers/trigger-registry.ts';
import { type OpenListener, WebhookListeners } from './triggers/webhook-listeners.ts';
import type { OutboxRouting } from './works/outbox-work.ts';
import { workKinds } from './works/work-kinds.ts';
import { Works } from './works/works.ts';

export interface AutomationOptions extends TargetRegistryOptions {
  readonly gateway: Gateway;
  readonly resources: LoadedResources;
  /** Reads the files after a folder has changed; errors are in the problems. */
  load(): Promise<LoadedResources>;
  readonly openListener: OpenListener;
  /** Folders to watch for changes; none: only a reload that is asked for. */
  readonly watched: readonly string[];
}

const DAY_MS = 86_400_000;
/**
 * Where the membership of a node holds what it has claimed, the time of a claim matters for those alone of which the answer was lost:
 * their events wait for it.
 */
const SHARED_CLAIM = { leaseMs: 10_000, renewMs: 3_000 };
/** Of the grace of a drain: for the store to close. */
const CLOSE_MS = 500;

export class Automation implements Part {
  readonly name = 'automation';
  readonly gateway: Gateway;
  readonly triggers: TriggerRegistry;
  readonly targets: TargetRegistry;
  readonly operator = new Operator(this);
  readonly feed = new RunFeed();
  readonly runs = new Runs(this);
  readonly approvals = new OperatorApprovals(() => this.#approvalsHost());
  readonly listeners: WebhookListeners;
  readonly #options: AutomationOptions;
  readonly #adapters: Adapters;
  readonly #connections: ConnectionRegistry;
  readonly #lease: ConnectionLease = new LocalLease();
  readonly #places: ApprovalPlaces;
  readonly #pauses = new Pauses();
  readonly #counters = new TriggerCounters();
  #circuits: Circuits | undefined;
  #decisions: Approvals | undefined;
  readonly #watches: FolderWatch[] = [];
  readonly #reloads: ResourceReloads;
  #store: Store | undefined;
  #works: Works | undefined;
  #dispatcher: Dispatcher | undefined;
  #deliveries: DeliveryControl | undefined;
  /** Where several share the store. */
  #nodes: SeveralNodes | undefined;
  #sweep: StoreSweep | undefined;
  #follower: PauseFollower | undefined;
  #tallies: ClusterTallies | undefined;
  /** What the boot begins with. */
  #resources: LoadedResources;
  /** First guard in the loaded files, if any. */
  callGuard: CallGuard | undefined;

  constructor(options: AutomationOptions) {
    this.gateway = options.gateway;
    this.#options = options;
    this.#resources = options.resources;
    this.callGuard = findCallGuard(options.resources);
    this.targets = new TargetRegistry(options);
    this.listeners = new WebhookListeners(options.openListener);
    this.triggers = new TriggerRegistry({
      log: () => this.gateway.log,
      open: (trigger, observer) => this.#open(trigger, observer),
      supervisor: () => this.#supervisor(TRIGGERS),
    });
    this.#connections = new ConnectionRegistry({
      log: () => this.gateway.log,
      supervisor: () => this.#supervisor(CONNECTIONS),
      lease: () => this.#nodes?.lease ?? this.#lease,
    });
    this.#adapters = makeAdapters({ maxBodyBytes: options.gateway.config.limits.body_bytes });
    this.#places = approvalPlaces(this.#adapters, this.triggers, this.targets);
    this.#reloads = new ResourceReloads({
      log: () => this.gateway.log,
      load: options.load,
      current: () => this.#resources,
      apply: (resources) => this.#apply(resources),
    });
    this.#notePrints();
  }

  /** There from the end of the boot on. */
  get store(): Store {
    if (this.#store === undefined) throw new Error('the store is not open');
    return this.#store;
  }

  get dispatcher(): Dispatcher {
    if (this.#dispatcher === undefined) throw new Error('the dispatcher has not been started');
    return this.#dispatcher;
  }

  get deliveries(): DeliveryControl {
    if (this.#deliveries === undefined) throw new Error('the dispatcher has not been started');
    return this.#deliveries;
  }

  /** How long records of what has ended are kept. */
  get keepMs(): number {
    return this.gateway.config.deliveries.retention_days * DAY_MS;
  }

  adapterOf(trigger: Trigger): Adapter {
    return this.#adapters.ofType(trigger.type);
  }

  /** Of the account that its answers are sent under; undefined while that is closed, or where it has none. */
  circuitOf(trigger: Trigger): CircuitStatus | undefined {
    const adapter = this.adapterOf(trigger);
    if (adapter.outbound === undefined) return undefined;
    const { platform, account } = accountOf(adapter, trigger);
    return this.#circuits?.status(`${platform}/${account}`);
  }

  async boot(root: RootRef): Promise<void> {
    const { log } = this.gateway;
    const { watched } = this.#options;
    const { deliveries, limits } = this.gateway.config;
    const { concurrency } = deliveries;
    const store = await this.gateway.store.open({
      prepare: (opened) => this.#pauses.load(opened),
      onThereLate: () => this.#onStoreLate(),
    });
    this.#store = store;
    if (store.cluster !== undefined) await this.#joinCluster(store.cluster);
    this.targets.boot(this.gateway);
    const { platforms } = this.#adapters;
    const circuits = new Circuits({ log });
    this.#circuits = circuits;
    const gateOf = this.#nodes?.gateOf;
    const routing = this.#routing();
    const kinds = workKinds({ store, routing, platforms, circuits, concurrency, ...(gateOf && { gateOf }) });
    this.#works = new Works({ store, kinds, maxBodyBytes: limits.body_bytes });
    const redact = (text: string) => this.gateway.redactor.redact(text);
    this.#dispatcher = new Dispatcher({
      store,
      log,
      redact,
      queues: this.#works.queues,
      listener: this.feed,
      ...(store.cluster === undefined ? {} : SHARED_CLAIM),
    });
    this.#deliveries = localDeliveryControl({
      store,
      dispatcher: this.#dispatcher,
      pauses: this.#pauses,
      counters: this.#counters,
      cancels: this.#nodes?.cancels,
      redact,
    });
    const logic = guarded(supervisorMachine);
    root.send({ type: 'part.spawn', name: CONNECTIONS, logic, input: this.#connections.supervisorInput() });
    root.send({ type: 'part.spawn', name: TRIGGERS, logic, input: this.triggers.supervisorInput() });
    for (const problem of this.#resources.problems) log.warn({}, formatProblem(problem));
    this.#use(this.#resources);
    this.#dispatcher.start(root);
    this.#nodes?.begin();
    this.#sweep = new StoreSweep({
      ...{ store, log, keepMs: this.keepMs, adapters: this.#adapters.all },
      typeOf: (name) => this.triggers.get(name)?.type,
    });
    if (store.cluster !== undefined) await this.#joinOthers(store.cluster.membership);
    for (const folder of watched)
      this.#watches.push(new FolderWatch(folder, () => void this.#reloads.onChanged()));
  }

  /** Loaded only where there are other nodes. */
  async #joinCluster(cluster: Cluster): Promise<void> {
    const { SeveralNodes } = await import('./several-nodes.ts');
    this.#nodes = new SeveralNodes({
      cluster,
      store: this.store,
      log: this.gateway.log,
      cancel: (id, note) => this.#dispatcher?.cancel(id, note) === true,
      platforms: () => this.#platforms(),
    });
  }

  /** What operators are told and have done at any node of the cluster; of use to several only. */
  async #joinOthers(membership: ClusterMembership): Promise<void> {
    const { store, gateway } = this;
    const { PauseFollower } = await import('./triggers/pause-follower.ts');
    this.#follower = new PauseFollower(membership, {
      ...{ store, log: gateway.log, pauses: this.#pauses },
      mark: (name, isPaused) => this.triggers.mark(name, isPaused),
    });
    if (gateway.cluster === undefined) return;
    const { shareTallies } = await import('./tallies/shared-tallies.ts');
    this.#tallies = shareTallies({
      ...{ membership, store, instance: gateway.cluster.instance },
      ...{ triggers: this.#counters, targets: this.feed.counters },
      redact: (text) => gateway.redactor.redact(text),
    });
  }

  /** They were opened when nobody knew. */
  #onStoreLate(): void {
    for (const { name } of this.triggers.all())
      if (this.deliveries.isPaused(name)) this.triggers.mark(name, true);
  }

  async drain(graceMs: number): Promise<void> {
    const endsAt = performance.now() + graceMs - CLOSE_MS;
    this.#sweep?.end();
    this.#follower?.end();
    this.#nodes?.close();
    for (const watch of this.#watches) watch.close();
    this.endWaits();
    await drainSupervisor(this.#supervisor(TRIGGERS));
    await drainSupervisor(this.#supervisor(CONNECTIONS));
    await this.listeners.end();
    this.#works?.close();
    await this.#dispatcher?.drain(Math.max(0, endsAt - performance.now()));
    await this.#tallies?.end();
    this.targets.close();
  }

  /** Requests that wait for the end of an event are answered now: it is accepted, and they would only be cut off. */
  endWaits(): void {
    this.feed.close();
    this.#deliveries?.endWaits();
  }

  /**
   * Applies what differs in the files that `load` reads, and returns the result of `applyRest`. Throws ConfigError, and then
   * nothing has changed.
   */
  reload<T>(
    load: () => Promise<LoadedResources>,
    applyRest: (difference: TriggerDifference) => Promise<T>,
  ): Promise<T> {
    return this.#reloads.reload(load, applyRest);
  }

  #apply(resources: LoadedResources): TriggerDifference {
    // Before anything could show them (A9).
    this.gateway.redactor.add(...resources.secrets);
    if (this.#dispatcher === undefined) {
      // Asked for while the gateway starts: it begins with these.
      this.#keep(resources);
      return { added: [], changed: [], removed: [], unchanged: [] };
    }
    const { log } = this.gateway;
    for (const problem of newWarnings(this.#resources.problems, resources.problems))
      log.warn({}, formatProblem(problem));
    const difference = this.#use(resources);
    log.info({ ...difference }, 'triggers reloaded');
    return difference;
  }

  #use(resources: LoadedResources): TriggerDifference {
    this.#keep(resources);
    this.targets.use(resources);
    const difference = this.triggers.apply(resources.triggers, (name) => this.deliveries.isPaused(name));
    this.#works?.judgeAnew();
    this.#nodes?.changed();
    return difference;
  }

  #keep(resources: LoadedResources): void {
    this.#resources = resources;
    this.callGuard = findCallGuard(resources);
    this.#notePrints();
  }

  #notePrints(): void {
    this.gateway.configHash.use({ resources: resourcesPrint(this.#resources.prints) });
  }

  #approvalsHost(): OperatorApprovalsHost {
    const { store, gateway } = this;
    this.#decisions ??= new Approvals({ ...{ store, places: this.#places }, ...this.#services() });
    return { store, gateway, approvals: this.#decisions };
  }

  #routing(): Routing & OutboxRouting {
    const { triggers, feed, targets } = this;
    return {
      feed,
      ...this.#places,
      isPaused: (name) => this.deliveries.isPaused(name),
      onHeld: (name) => void this.#onHeld(name),
      handlerOf: (target) => targets.handlerOf(target),
      attemptSecondsOf: (target) => targets.triggerOf(target)?.timeout_seconds,
      loaded: () => targets.loaded,
      stop: (id, note) => this.#stop(id, note),
      discard: (id, note) => this.deliveries.discard(id, note),
      services: this.#services(),
      count: (trigger, kind) => this.deliveries.count(trigger, kind),
      get longestTimeoutMs() {
        return Math.max(triggers.longestTimeoutMs, targets.longestTimeoutMs);
      },
    };
  }

  async #stop(id: string, note: string): Promise<boolean> {
    return (await this.deliveries.cancel(id, note)) || this.deliveries.discard(id, note);
  }

  #services(): HandlerServices {
    const { gateway } = this;
    const redact = (text: string) => gateway.redactor.redact(text);
    return { log: gateway.log, redact, tools: new InProcessClient(gateway) };
  }

  async #onHeld(trigger: string): Promise<void> {
    try {
      await this.deliveries.releaseHeld(trigger);
    } catch (error) {
      const reason = (error as Error).message;
      this.gateway.log.error(
        { trigger, reason },
        'what a trigger holds could not be let go; resume it again',
      );
    }
  }

  #open(trigger: Trigger, observer: ConnectionObserver): Promise<OpenTrigger> {
    const { store, deliveries, listeners, gateway } = this;
    const connections = this.#connections;
    const adapter = this.adapterOf(trigger);
    const services = { store, deliveries, listeners, connections, log: gateway.log };
    const host = sourceHost(services, observer, () => accountOf(adapter, trigger));
    return adapter.open(trigger, host);
  }

  /** To which triggers send that are switched on. */
  #platforms(): ReadonlySet<string> {
    const used = this.triggers.all().filter(({ enabled }) => enabled);
    return new Set(used.map(({ type }) => platformOf(type)));
  }

  #supervisor(name: string): AnyActorRef | undefined {
    return this.gateway.life.find(name);
  }
}
