// Events that agents parked (released until a decision or a time), while the resources change: agents are
// replaced or removed, triggers are removed, restored or paused, events are cancelled, and the process stops
// or is killed. The classes for conversations, pauses and cancellation are real. Each event completes once or
// is cancelled, events of a conversation do not run in parallel, and no state remains.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AgentReply, Handler, Job } from '../../../actors/agents/handlers/handler.ts';
import type { HandlerContext } from '../../../actors/agents/handlers/handler-context.ts';
import type { Parked } from '../../../actors/agents/handlers/parked.ts';
import type { Routing } from '../../../actors/automation/conversations/routing.ts';
import { Pauses } from '../../../actors/automation/triggers/pauses.ts';
import { workKinds } from '../../../actors/automation/works/work-kinds.ts';
import { Works } from '../../../actors/automation/works/works.ts';
import { localDeliveryControl } from '../../../actors/events/inbox/delivery-control.ts';
import { Dispatcher } from '../../../actors/events/inbox/dispatcher.ts';
import { Circuits } from '../../../actors/events/outbox/circuits.ts';
import { Life } from '../../../actors/gateway/life.ts';
import type { Adapter } from '../../../actors/platforms/adapter.ts';
import { manualAdapter } from '../../../actors/platforms/manual/adapter.ts';
import type { NewEvent } from '../../../actors/store/event.ts';
import { agentTarget } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { noServices } from '../../fixtures/automation/contexts.ts';
import { LogNotes, newEvent, until } from '../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../fixtures/automation/triggers.ts';
import { engineHarness, memoryHarness, type StoreHarness } from '../../fixtures/store/store-harness.ts';

/**
 * Steps of a run: `fail` fails once, `wait` parks the event, `hold` parks it and blocks its conversation. An
 * event that is parked `for a time` wakes after 5 ms. Any other parked event waits for a decision.
 */
const steps = ['checkpoint', 'fail', 'wait', 'hold', 'wait for a time', 'hold for a time'] as const;
type Step = (typeof steps)[number];
/** Changes while events are parked. A change concerns a random event, and its agent and trigger. */
const changes = [
  'replace agent',
  'remove agent',
  'replace trigger',
  'remove trigger',
  'pause trigger',
  'restore all',
  'cancel event',
  'wake events',
  'kill process',
  'stop process',
] as const;
type Change = (typeof changes)[number];

const retry = { attempts: 1_000, min_backoff_seconds: 0.001, max_backoff_seconds: 0.004, factor: 2 };
/** Short intervals of the dispatcher, which claims and runs events, so that test runs take milliseconds. */
const quickDispatcher = { tickMs: 4, pollMs: 8, leaseMs: 10_000, renewMs: 20, lingerMs: 10, patienceMs: 10 };
/** Note of an event that was ignored because its trigger was removed. */
const TRIGGER_REMOVED = 'its triggers were removed or disabled';
const TRIGGERS = ['t0', 't1'];
/** Time after which every claim and pause has ended. */
const LONG_MS = 3_600_000;

/** Index of the next step, and of the step that parked the event. */
interface RunState {
  readonly next: number;
  readonly parkedAt?: number;
}

/** The loaded triggers and agents. A trigger and its agent have the same name. */
class Configuration {
  readonly triggers = new Map<string, Trigger>();
  readonly agents = new Map<string, Handler>();
  readonly #newAgent: () => Handler;

  constructor(newAgent: () => Handler) {
    this.#newAgent = newAgent;
    for (const name of TRIGGERS) this.restore(name);
  }

  restore(name: string): void {
    this.triggers.set(name, { ...manualTrigger(name), default_target: agentTarget(name), retry });
    this.agents.set(name, this.#newAgent());
  }
}

/** The gateway process, its store, and the agents that run the steps of the events. */
class World {
  readonly violations: string[] = [];
  readonly cancelled = new Set<string>();
  readonly #harness: StoreHarness;
  readonly #configuration = new Configuration(() => ({ run: (job, context) => this.#run(job, context) }));
  /** Steps that have failed. A `fail` step fails once. */
  readonly #failed = new Set<string>();
  /** Keys with a running event. */
  readonly #running = new Set<string>();
  #dispatcher: Dispatcher | undefined;
  #works: Works | undefined;
  #pauses = new Pauses();
  /** Number of events that `finish` added. */
  #probes = 0;

  constructor(harness: StoreHarness) {
    this.#harness = harness;
  }

  get #store() {
    return this.#harness.store;
  }

  get #deliveries() {
    const dispatcher = this.#dispatcher as Dispatcher;
    return localDeliveryControl({ store: this.#store, dispatcher, redact: String });
  }

  async startProcess(): Promise<void> {
    const store = this.#store;
    const { triggers, agents } = this.#configuration;
    const pauses = new Pauses();
    this.#pauses = pauses;
    await pauses.load(store);
    const routing: Routing & { trigger(name: string): Trigger | undefined } = {
      adapterOf: () => manualAdapter as Adapter,
      trigger: (name) => triggers.get(name),
      triggers: () => [...triggers.values()],
      isPaused: (name) => pauses.has(name),
      onHeld: (name) => void pauses.onHeld(store, name).catch(() => {}),
      handlerOf: ({ name }) => agents.get(name),
      loaded: () => ({ agents: [], fleets: [], flows: [] }),
      attemptSecondsOf: () => undefined,
      stop: async () => false,
      discard: (id, note) => store.discard(id, note),
      services: noServices,
      count: () => {},
      longestTimeoutMs: 60_000,
    };
    const circuits = new Circuits({ log: new LogNotes() });
    const kinds = workKinds({ store, circuits, platforms: [], routing, concurrency: 3 });
    this.#works = new Works({ store, kinds, maxBodyBytes: 1_000 });
    const { queues } = this.#works;
    this.#dispatcher = new Dispatcher({
      life: new Life(0),
      store,
      log: new LogNotes(),
      queues,
      ...quickDispatcher,
    });
  }

  async stopProcess(graceMs: number): Promise<void> {
    this.#works?.close();
    await this.#dispatcher?.drain(graceMs);
  }

  async apply(change: Change, id: string, trigger: string): Promise<void> {
    const { agents, triggers } = this.#configuration;
    if (change === 'remove agent') agents.delete(trigger);
    else if (change === 'remove trigger') triggers.delete(trigger);
    else if (change === 'replace agent' || change === 'replace trigger') this.#configuration.restore(trigger);
    else if (change === 'pause trigger') await this.#pauses.pause(this.#store, trigger);
    else if (change === 'restore all') await this.restoreAll();
    else if (change === 'cancel event') await this.#cancel(id);
    else if (change === 'wake events') await this.wake();
    else {
      // A kill discards everything uncommitted.
      this.#harness.isFailing = change === 'kill process';
      await this.stopProcess(change === 'kill process' ? 20 : 200);
      await this.#harness.restart();
      this.#harness.isFailing = false;
      await this.startProcess();
      return;
    }
    this.#works?.recheckQueued();
  }

  async restoreAll(): Promise<void> {
    for (const name of TRIGGERS) {
      this.#configuration.restore(name);
      await this.#pauses.resume(this.#store, name);
    }
    this.#works?.recheckQueued();
  }

  async #cancel(id: string): Promise<void> {
    const before = await this.#store.delivery(id);
    const wasAccepted = await this.#deliveries.cancel(id, 'cancelled');
    const after = await this.#store.delivery(id);
    if (wasAccepted && after?.state === 'ignored') this.cancelled.add(id);
    if (before?.state === 'waiting' && after?.state === 'waiting')
      this.violations.push(`${id} is still parked although it was cancelled`);
  }

  /** Wakes all events that wait for a decision. */
  async wake(): Promise<void> {
    for (const { key, waitingFor = '' } of await this.#waiting())
      if (!waitingFor.includes('time'))
        await this.#store.append([
          { ...newEvent(key, `waker of ${waitingFor}`), kind: 'decision', wakes: waitingFor },
        ]);
  }

  #waiting() {
    return this.#store.deliveries({ states: ['waiting'], limit: 100 });
  }

  /** Runs the steps in the job input, and records violations of the conversation rules. */
  async #run({ input, idempotencyKey: id, conversation }: Job, context: HandlerContext) {
    const key = `conversation/${conversation}`;
    if (this.#running.has(key)) this.violations.push(`${id} runs in parallel with another event of its key`);
    if (this.cancelled.has(id)) this.violations.push(`${id} runs although it was cancelled`);
    for (const parked of await this.#waiting())
      if (parked.key === key && parked.waitingFor?.startsWith('hold'))
        this.violations.push(`${id} runs although ${parked.id} holds its conversation`);
    this.#running.add(key);
    try {
      return await this.#steps(id, input.split(';') as Step[], context);
    } finally {
      this.#running.delete(key);
    }
  }

  async #steps(id: string, script: readonly Step[], context: HandlerContext): Promise<AgentReply | Parked> {
    const { next, parkedAt }: RunState = JSON.parse(context.state ?? '{"next":0}');
    for (const [index, step] of script.entries()) {
      if (index < next) continue;
      const name = `${step}: ${id}/${index}`;
      if (step === 'checkpoint') await context.checkpoint(JSON.stringify({ next: index + 1 }));
      else if (step === 'fail') {
        if (!this.#failed.has(name)) {
          this.#failed.add(name);
          throw new Error('once');
        }
      } else if (parkedAt !== index) {
        const state = JSON.stringify({ next: index, parkedAt: index });
        const wakeInMs = step.endsWith('time') ? 5 : undefined;
        return { parkedOn: name, holdsConversation: step.startsWith('hold'), state, wakeInMs };
      } else if (context.waker === undefined)
        this.violations.push(`${name} continues although nothing has woken it`);
    }
    return { text: '' };
  }

  /**
   * Restores all resources, and checks that all events complete with no violation and leave no state. An
   * additional event (a probe) per key must complete too.
   */
  async finish(keys: ReadonlySet<string>): Promise<void> {
    await this.restoreAll();
    const probes = [...keys].map((key): NewEvent => eventOf(`probe ${this.#probes++}`, key, []));
    await this.#store.append(probes);
    const areAllComplete = async () => {
      await this.wake();
      const { queued, running, retrying, held, waiting } = await this.#store.counts();
      if (retrying + waiting > 0) this.#harness.advance(500);
      return queued + running + retrying + held + waiting === 0;
    };
    await until('all events are complete', areAllComplete, 20_000);
    await this.stopProcess(200);
    this.#harness.advance(LONG_MS);
    expect(await this.#store.claim(10, LONG_MS)).toEqual([]);
    expect(this.violations).toEqual([]);
    for (const { id } of probes) expect(await this.#store.delivery(id)).toMatchObject({ state: 'done' });
  }
}

function eventOf(id: string, key: string, script: readonly Step[]): NewEvent {
  const body = { command: '', parameters: {}, text: script.join(';') };
  // The key is `conversation/manual/TRIGGER/NUMBER`.
  const trigger = key.split('/')[2];
  return { id, key, meta: JSON.stringify({ trigger }), body: Buffer.from(JSON.stringify(body)), trace: '' };
}

const arbScript = fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 4 });
/** Trigger, number of the conversation, and steps of each event. */
const arbEvents = fc.array(fc.tuple(fc.constantFrom(...TRIGGERS), fc.nat({ max: 1 }), arbScript), {
  minLength: 1,
  maxLength: 6,
});
/** Change, index of the event (modulo the number of events), and delay in milliseconds. */
const arbChanges = fc.array(
  fc.tuple(fc.constantFrom(...changes), fc.nat({ max: 5 }), fc.integer({ min: 0, max: 10 })),
  { maxLength: 8 },
);

async function checkEvents(
  open: () => Promise<StoreHarness>,
  eventList: readonly (readonly [string, number, readonly Step[]])[],
  changeList: readonly (readonly [Change, number, number])[],
): Promise<void> {
  const harness = await open();
  const world = new World(harness);
  await world.startProcess();
  const events = eventList.map(([trigger, conversation, script], i) =>
    eventOf(`e${i}`, `conversation/manual/${trigger}/${conversation}`, script),
  );
  await harness.store.append(events);
  for (const [change, n, delayMs] of changeList) {
    const index = n % eventList.length;
    await new Promise<void>((resolve) => setTimeout(resolve, delayMs));
    await world.apply(change, `e${index}`, eventList[index]?.[0] ?? '');
  }
  await world.finish(new Set(events.map(({ key }) => key)));
  for (const [index, { id }] of events.entries()) {
    const { state, note } = (await harness.store.delivery(id)) ?? {};
    const mayBeCancelled = changeList.some(
      ([change, n]) => change === 'cancel event' && n % eventList.length === index,
    );
    const mayLoseTrigger = changeList.some(([change]) => change === 'remove trigger');
    if (world.cancelled.has(id)) expect([id, state, note]).toEqual([id, 'ignored', 'cancelled']);
    else if (state === 'ignored')
      expect([mayBeCancelled && 'cancelled', mayLoseTrigger && TRIGGER_REMOVED], id).toContain(note);
    else expect([id, state]).toEqual([id, 'done']);
  }
  await harness.store.close();
}

test.each([
  ['in memory', memoryHarness, 40],
  ['on disk', engineHarness, 30],
] as const)(
  'a parked event completes once and leaves no state, for any changes of resources and restarts (store %s)',
  async (_, open, numRuns) => {
    const property = fc.asyncProperty(arbEvents, arbChanges, (eventList, changeList) =>
      checkEvents(open, eventList, changeList),
    );
    await fc.assert(property, { numRuns });
  },
  120_000,
);
