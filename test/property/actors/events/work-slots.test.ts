// Work slots under any order of arrivals, completions and checks: limits are respected, no holder gets all
// slots, and every event gets a slot eventually.

import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type WorkSlot, WorkSlots } from '../../../../actors/events/inbox/work-slots.ts';
import type { StoredEvent } from '../../../../actors/store/event.ts';

const TOTAL = 12;
const BYTES = 1_000;

const eventOf = (seq: number, bytes = 0): StoredEvent => ({
  seq,
  id: String(seq),
  key: '',
  meta: '',
  body: new Uint8Array(bytes),
  trace: '',
  at: 0,
  attempt: 1,
  crashes: 0,
});

interface WaitingEvent {
  readonly event: StoredEvent;
  readonly agent: string;
  readonly trigger: string;
}

/** A store that soon redelivers released events, and the runs that use the slots. */
class World {
  readonly held = new Map<string, WaitingEvent[]>();
  readonly running: (WaitingEvent & { readonly slot: WorkSlot })[] = [];
  readonly ended: number[] = [];
  /** True if released events are not redelivered. */
  isLosing = false;
  /** Sequence numbers in the order in which the events got slots, by agent and trigger. */
  readonly started = new Map<string, number[]>();
  readonly slots = new WorkSlots({
    slots: TOTAL,
    bytes: BYTES,
    release: async (name, max = Number.POSITIVE_INFINITY) => {
      const all = (this.held.get(name) ?? []).sort((a, b) => a.event.seq - b.event.seq);
      const free = all.splice(0, max);
      if (this.isLosing) return free.length;
      // Released events are claimed later.
      setImmediate(() => {
        for (const waiting of free) this.offer(waiting);
      });
      return free.length;
    },
  });

  offer(waiting: WaitingEvent): void {
    const { agent, trigger, event } = waiting;
    const slot = this.slots.take(agent, trigger, event);
    if (typeof slot === 'string') {
      const held = this.held.get(slot) ?? [];
      this.held.set(slot, [...held, waiting]);
      expect(this.slots.noteQueued(slot)).toBe(true);
      return;
    }
    this.running.push({ ...waiting, slot });
    const name = `${agent} ${trigger}`;
    this.started.set(name, [...(this.started.get(name) ?? []), event.seq]);
    const bytes = this.running.reduce((sum, each) => sum + Math.min(each.event.body.length, BYTES >> 2), 0);
    expect(this.running.length).toBeLessThanOrEqual(TOTAL);
    expect(bytes).toBeLessThanOrEqual(BYTES);
    for (const of of ['agent', 'trigger'] as const) {
      const own = this.running.filter((each) => each[of] === waiting[of]).length;
      expect(own).toBeLessThanOrEqual(TOTAL / 2);
    }
  }

  end(index: number): void {
    const [run] = this.running.splice(index, 1);
    if (run === undefined) return;
    this.ended.push(run.event.seq);
    run.slot.end();
  }

  /** Lets all pending releases happen. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

const arrival = fc.record({
  agent: fc.constantFrom('a', 'b', 'c'),
  trigger: fc.constantFrom('t', 'u'),
  bytes: fc.constantFrom(0, 0, 0, 10, 200, 900),
});
const steps = fc.array(fc.oneof(arrival, arrival, fc.nat({ max: 20 })), { maxLength: 80 });

test('work slots never exceed the limits, no trigger or agent gets more than half, and every event gets a slot', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const world = new World();
      let seq = 0;
      for (const step of all) {
        if (typeof step === 'number') world.end(step % Math.max(1, world.running.length));
        else world.offer({ event: eventOf(++seq, step.bytes), agent: step.agent, trigger: step.trigger });
        if (seq % 7 === 0) await world.settle();
      }
      for (let round = 0; world.ended.length < seq; round += 1) {
        if (round > 10 * seq) throw new Error(`${seq - world.ended.length} have not got a slot`);
        world.end(0);
        await world.settle();
      }
      world.slots.close();
    }),
    { numRuns: 300 },
  );
});

test('events of one agent and trigger are released in order, and later events wait behind them', async () => {
  const world = new World();
  for (let seq = 1; seq <= 40; seq += 1) world.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  expect(world.running).toHaveLength(TOTAL / 2);
  for (let seq = 41; world.ended.length < 60; seq += 1) {
    world.end(0);
    if (seq <= 60) world.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
    await world.settle();
  }
  const order = world.started.get('a t') ?? [];
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  world.slots.close();
});

test('a second trigger of an agent at its limit gets the next free slot before all earlier events', async () => {
  const world = new World();
  for (let seq = 1; seq <= 40; seq += 1) world.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  world.offer({ event: eventOf(41), agent: 'a', trigger: 'u' });
  expect(world.started.get('a u')).toBeUndefined();
  world.end(0);
  await world.settle();
  expect(world.started.get('a u')).toEqual([41]);
  world.slots.close();
});

test('waiting events are released for a new decision when agents or triggers change', async () => {
  const world = new World();
  for (let seq = 1; seq <= 10; seq += 1) world.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  const before = [...world.held.values()].flat().length;
  expect(before).toBe(10 - TOTAL / 2);
  for (const list of world.held.values())
    for (const [n, waiting] of list.entries()) list[n] = { ...waiting, agent: 'b', trigger: 'u' };
  world.slots.releaseAll();
  await world.settle();
  expect(world.started.get('b u')).toEqual([7, 8, 9]);
  world.slots.close();
});

test('a released event that does not arrive blocks its slot for up to two checks', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const world = new World();
  for (let seq = 1; seq <= TOTAL / 2 + 1; seq += 1)
    world.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  world.isLosing = true;
  world.end(0);
  await world.settle();
  world.isLosing = false;
  world.offer({ event: eventOf(40), agent: 'a', trigger: 't' });
  await world.settle();
  expect(world.started.get('a t')).toHaveLength(TOTAL / 2);
  for (let check = 0; check < 2; check += 1) {
    vi.advanceTimersByTime(1_000);
    await world.settle();
  }
  expect(world.started.get('a t')?.at(-1)).toBe(40);
  world.slots.close();
  vi.useRealTimers();
});
