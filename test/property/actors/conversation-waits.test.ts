// Events that park, while everything around them changes: agents are replaced and go, triggers go and come back and are paused,
// events are cancelled, and the process stops or is killed. With the real work on conversations, pauses and control of deliveries.

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
import { type Tried, triedInMemory, triedOnEngine } from '../../fixtures/store/tried-store.ts';

const steps = ['keep', 'fail', 'wait', 'hold', 'wait for a time', 'hold for a time'] as const;
type Step = (typeof steps)[number];
const happenings = [
  'its agent is replaced',
  'its agent is gone',
  'its trigger is replaced',
  'its trigger is gone',
  'its trigger is paused',
  'everything is back',
  'it is cancelled',
  'it is woken',
  'a kill',
  'a stop',
] as const;
type Happening = (typeof happenings)[number];

const retry = { attempts: 1_000, min_backoff_seconds: 0.001, max_backoff_seconds: 0.004, factor: 2 };
const quick = { tickMs: 4, pollMs: 8, leaseMs: 10_000, renewMs: 20, lingerMs: 10, patienceMs: 10 };
const GONE = 'the triggers it came for are gone or switched off';
const TRIGGERS = ['t0', 't1'];
const LONG_MS = 3_600_000;

/** What a run keeps: where it goes on, and at which step it has parked. */
interface Kept {
  readonly at: number;
  readonly parkedAt?: number;
}

/** The resources as they are at present. */
class Configuration {
  readonly triggers = new Map<string, Trigger>();
  readonly agents = new Map<string, Handler>();
  readonly #agent: () => Handler;

  constructor(agent: () => Handler) {
    this.#agent = agent;
    for (const name of TRIGGERS) this.restore(name);
  }

  restore(name: string): void {
    this.triggers.set(name, { ...manualTrigger(name), default_target: agentTarget(name), retry });
    this.agents.set(name, this.#agent());
  }
}

class World {
  readonly wrong: string[] = [];
  readonly cancelled = new Set<string>();
  readonly #tried: Tried;
  readonly #configuration = new Configuration(() => ({ run: (job, context) => this.#run(job, context) }));
  readonly #failed = new Set<string>();
  readonly #running = new Set<string>();
  #dispatcher: Dispatcher | undefined;
  #works: Works | undefined;
  #pauses = new Pauses();
  #alarms = 0;

  constructor(tried: Tried) {
    this.#tried = tried;
  }

  get #store() {
    return this.#tried.store;
  }

  get #deliveries() {
    const dispatcher = this.#dispatcher as Dispatcher;
    return localDeliveryControl({ store: this.#store, dispatcher, redact: String });
  }

  async begin(): Promise<void> {
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
    this.#dispatcher = new Dispatcher({ life: new Life(0), store, log: new LogNotes(), queues, ...quick });
  }

  async end(graceMs: number): Promise<void> {
    this.#works?.close();
    await this.#dispatcher?.drain(graceMs);
  }

  async happen(what: Happening, id: string, trigger: string): Promise<void> {
    const { agents, triggers } = this.#configuration;
    if (what === 'its agent is gone') agents.delete(trigger);
    else if (what === 'its trigger is gone') triggers.delete(trigger);
    else if (what === 'its agent is replaced' || what === 'its trigger is replaced')
      this.#configuration.restore(trigger);
    else if (what === 'its trigger is paused') await this.#pauses.pause(this.#store, trigger);
    else if (what === 'everything is back') await this.restoreAll();
    else if (what === 'it is cancelled') await this.#cancel(id);
    else if (what === 'it is woken') await this.wake();
    else {
      // What is killed takes what it has not committed with it.
      this.#tried.isFailing = what === 'a kill';
      await this.end(what === 'a kill' ? 20 : 200);
      await this.#tried.restart();
      this.#tried.isFailing = false;
      await this.begin();
      return;
    }
    this.#works?.judgeAnew();
  }

  async restoreAll(): Promise<void> {
    for (const name of TRIGGERS) {
      this.#configuration.restore(name);
      await this.#pauses.resume(this.#store, name);
    }
    this.#works?.judgeAnew();
  }

  async #cancel(id: string): Promise<void> {
    const before = await this.#store.delivery(id);
    const wasTaken = await this.#deliveries.cancel(id, 'cancelled');
    const after = await this.#store.delivery(id);
    if (wasTaken && after?.state === 'ignored') this.cancelled.add(id);
    if (before?.state === 'waiting' && after?.state === 'waiting')
      this.wrong.push(`${id} waits on although it was cancelled`);
  }

  /** Wakes whatever waits for somebody to do so. */
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

  async #run({ input, idempotencyKey: id, conversation }: Job, context: HandlerContext) {
    const key = `conversation/${conversation}`;
    if (this.#running.has(key)) this.wrong.push(`${id} runs beside another of its key`);
    if (this.cancelled.has(id)) this.wrong.push(`${id} runs although it was cancelled`);
    for (const other of await this.#waiting())
      if (other.key === key && other.waitingFor?.startsWith('hold'))
        this.wrong.push(`${id} runs although ${other.id} holds its conversation`);
    this.#running.add(key);
    try {
      return await this.#steps(id, input.split(';') as Step[], context);
    } finally {
      this.#running.delete(key);
    }
  }

  async #steps(id: string, script: readonly Step[], context: HandlerContext): Promise<AgentReply | Parked> {
    const { at: from, parkedAt }: Kept = JSON.parse(context.state ?? '{"at":0}');
    for (const [at, step] of script.entries()) {
      if (at < from) continue;
      const name = `${step}: ${id}/${at}`;
      if (step === 'keep') await context.checkpoint(JSON.stringify({ at: at + 1 }));
      else if (step === 'fail') {
        if (!this.#failed.has(name)) {
          this.#failed.add(name);
          throw new Error('once');
        }
      } else if (parkedAt !== at) {
        const state = JSON.stringify({ at, parkedAt: at });
        const wakeInMs = step.endsWith('time') ? 5 : undefined;
        return { parkedOn: name, holdsConversation: step.startsWith('hold'), state, wakeInMs };
      } else if (context.woken === undefined) this.wrong.push(`${name} goes on, and nothing has woken it`);
    }
    return { text: '' };
  }

  /** Lets all come to an end, and looks whether anything is left of what has ended. */
  async finish(keys: ReadonlySet<string>): Promise<void> {
    await this.restoreAll();
    const probes = [...keys].map((key): NewEvent => eventOf(`probe ${this.#alarms++}`, key, []));
    await this.#store.append(probes);
    const isOver = async () => {
      await this.wake();
      const { queued, running, retrying, held, waiting } = await this.#store.counts();
      if (retrying + waiting > 0) this.#tried.advance(500);
      return queued + running + retrying + held + waiting === 0;
    };
    await until('all have ended', isOver, 20_000);
    await this.end(200);
    this.#tried.advance(LONG_MS);
    expect(await this.#store.claim(10, LONG_MS)).toEqual([]);
    expect(this.wrong).toEqual([]);
    for (const { id } of probes) expect(await this.#store.delivery(id)).toMatchObject({ state: 'done' });
  }
}

function eventOf(id: string, key: string, script: readonly Step[]): NewEvent {
  const body = { command: '', parameters: {}, text: script.join(';') };
  const trigger = key.split('/')[2];
  return { id, key, meta: JSON.stringify({ trigger }), body: Buffer.from(JSON.stringify(body)), trace: '' };
}

const arbScript = fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 4 });
const arbEvents = fc.array(fc.tuple(fc.constantFrom(...TRIGGERS), fc.nat({ max: 1 }), arbScript), {
  minLength: 1,
  maxLength: 6,
});
const arbHappenings = fc.array(
  fc.tuple(fc.constantFrom(...happenings), fc.nat({ max: 5 }), fc.integer({ min: 0, max: 10 })),
  { maxLength: 8 },
);

async function tryEvents(
  open: () => Promise<Tried>,
  list: readonly (readonly [string, number, readonly Step[]])[],
  happens: readonly (readonly [Happening, number, number])[],
): Promise<void> {
  const tried = await open();
  const world = new World(tried);
  await world.begin();
  const keyOf = (trigger: string, n: number) => `conversation/manual/${trigger}/${n}`;
  const events = list.map(([trigger, n, script], i) => eventOf(`e${i}`, keyOf(trigger, n), script));
  await tried.store.append(events);
  for (const [what, which, ms] of happens) {
    const at = which % list.length;
    await new Promise<void>((resolve) => setTimeout(resolve, ms));
    await world.happen(what, `e${at}`, list[at]?.[0] ?? '');
  }
  await world.finish(new Set(events.map(({ key }) => key)));
  for (const [at, { id }] of events.entries()) {
    const { state, note } = (await tried.store.delivery(id)) ?? {};
    const mayBeCancelled = happens.some(
      ([what, which]) => what === 'it is cancelled' && which % list.length === at,
    );
    const mayBeGone = happens.some(([what]) => what === 'its trigger is gone');
    if (world.cancelled.has(id)) expect([id, state, note]).toEqual([id, 'ignored', 'cancelled']);
    else if (state === 'ignored')
      expect([mayBeCancelled && 'cancelled', mayBeGone && GONE], id).toContain(note);
    else expect([id, state]).toEqual([id, 'done']);
  }
  await tried.store.close();
}

test.each([
  ['in memory', triedInMemory, 40],
  ['on the embedded store', triedOnEngine, 30],
] as const)(
  'whatever changes around a parked event, it ends once and leaves nothing behind: %s',
  async (_, open, numRuns) => {
    const property = fc.asyncProperty(arbEvents, arbHappenings, (list, happens) =>
      tryEvents(open, list, happens),
    );
    await fc.assert(property, { numRuns });
  },
  120_000,
);
