// Work slots (permissions to run an event) under any order of arrivals and completions. An event without a
// slot is held until a slot is free. The limits are respected, no agent or trigger gets all slots, and every
// event gets a slot eventually.

import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type WorkSlot, WorkSlots } from '../../../../actors/events/inbox/work-slots.ts';
import type { StoredEvent } from '../../../../actors/store/event.ts';

/** Number of slots. An agent or trigger is limited to half of them. */
const TOTAL = 12;
/** Limit for the bodies of all running events. An event counts as at most a quarter of the limit. */
const TOTAL_BYTES = 1_000;

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
class FakeInbox {
  /** Events that wait for a slot, by the group name that `take` returned instead of a slot. */
  readonly held = new Map<string, WaitingEvent[]>();
  readonly running: (WaitingEvent & { readonly slot: WorkSlot })[] = [];
  readonly ended: number[] = [];
  /** True if released events are not redelivered. */
  isLosing = false;
  /** Sequence numbers in the order in which the events got slots, by agent and trigger. */
  readonly started = new Map<string, number[]>();
  readonly slots = new WorkSlots({
    slots: TOTAL,
    bytes: TOTAL_BYTES,
    release: async (name, max = Number.POSITIVE_INFINITY) => {
      const all = (this.held.get(name) ?? []).sort((a, b) => a.event.seq - b.event.seq);
      const released = all.splice(0, max);
      if (this.isLosing) return released.length;
      // Released events are claimed later.
      setImmediate(() => {
        for (const waiting of released) this.offer(waiting);
      });
      return released.length;
    },
  });

  /** Starts the event if it gets a slot, and checks all limits. Otherwise holds it. */
  offer(waiting: WaitingEvent): void {
    const { agent, trigger, event } = waiting;
    const slot = this.slots.take(agent, trigger, event);
    if (typeof slot === 'string') {
      const held = this.held.get(slot) ?? [];
      this.held.set(slot, [...held, waiting]);
      // Reports the event as queued; true confirms that the group exists.
      expect(this.slots.noteQueued(slot)).toBe(true);
      return;
    }
    this.running.push({ ...waiting, slot });
    const name = `${agent} ${trigger}`;
    this.started.set(name, [...(this.started.get(name) ?? []), event.seq]);
    const bytes = this.running.reduce(
      (sum, each) => sum + Math.min(each.event.body.length, TOTAL_BYTES / 4),
      0,
    );
    expect(this.running.length).toBeLessThanOrEqual(TOTAL);
    expect(bytes).toBeLessThanOrEqual(TOTAL_BYTES);
    for (const owner of ['agent', 'trigger'] as const) {
      const slotsOfOwner = this.running.filter((each) => each[owner] === waiting[owner]).length;
      expect(slotsOfOwner).toBeLessThanOrEqual(TOTAL / 2);
    }
  }

  end(index: number): void {
    const [run] = this.running.splice(index, 1);
    if (run === undefined) return;
    this.ended.push(run.event.seq);
    run.slot.end();
  }

  /** Completes all pending releases. */
  async settle(): Promise<void> {
    for (let round = 0; round < 4; round += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

const arrival = fc.record({
  agent: fc.constantFrom('a', 'b', 'c'),
  trigger: fc.constantFrom('t', 'u'),
  bytes: fc.constantFrom(0, 0, 0, 10, 200, 900),
});
/** An arrival, or the index of a running event that completes. */
const anySteps = fc.array(fc.oneof(arrival, arrival, fc.nat({ max: 20 })), { maxLength: 80 });

test('work slots never exceed the limits, no trigger or agent gets more than half, and every event gets a slot', async () => {
  await fc.assert(
    fc.asyncProperty(anySteps, async (steps) => {
      const inbox = new FakeInbox();
      let seq = 0;
      for (const step of steps) {
        if (typeof step === 'number') inbox.end(step % Math.max(1, inbox.running.length));
        else inbox.offer({ event: eventOf(++seq, step.bytes), agent: step.agent, trigger: step.trigger });
        // Sometimes completes the releases, so that arrivals also occur between a release and its completion.
        if (seq % 7 === 0) await inbox.settle();
      }
      for (let round = 0; inbox.ended.length < seq; round += 1) {
        if (round > 10 * seq) throw new Error(`${seq - inbox.ended.length} have not got a slot`);
        inbox.end(0);
        await inbox.settle();
      }
      inbox.slots.close();
    }),
    { numRuns: 300 },
  );
});

test('events that wait for a work slot start in order of arrival if they have the same agent and trigger', async () => {
  const inbox = new FakeInbox();
  for (let seq = 1; seq <= 40; seq += 1) inbox.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  expect(inbox.running).toHaveLength(TOTAL / 2);
  for (let seq = 41; inbox.ended.length < 60; seq += 1) {
    inbox.end(0);
    if (seq <= 60) inbox.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
    await inbox.settle();
  }
  const order = inbox.started.get('a t') ?? [];
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  inbox.slots.close();
});

test('if one trigger uses all slots of an agent, another trigger of the agent gets the next free slot first', async () => {
  const inbox = new FakeInbox();
  for (let seq = 1; seq <= 40; seq += 1) inbox.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  inbox.offer({ event: eventOf(41), agent: 'a', trigger: 'u' });
  expect(inbox.started.get('a u')).toBeUndefined();
  inbox.end(0);
  await inbox.settle();
  expect(inbox.started.get('a u')).toEqual([41]);
  inbox.slots.close();
});

test('events that wait for a work slot count for their new agent and trigger after agents or triggers change', async () => {
  const inbox = new FakeInbox();
  for (let seq = 1; seq <= 10; seq += 1) inbox.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  const before = [...inbox.held.values()].flat().length;
  expect(before).toBe(10 - TOTAL / 2);
  for (const list of inbox.held.values())
    for (const [n, waiting] of list.entries()) list[n] = { ...waiting, agent: 'b', trigger: 'u' };
  inbox.slots.releaseAll();
  await inbox.settle();

  // Six events run already. One agent gets half of the six free slots.
  expect(inbox.started.get('b u')).toEqual([7, 8, 9]);
  inbox.slots.close();
});

test('a work slot reserved for an event that does not arrive is free again after two checks, one per second', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const inbox = new FakeInbox();
  for (let seq = 1; seq <= TOTAL / 2 + 1; seq += 1)
    inbox.offer({ event: eventOf(seq), agent: 'a', trigger: 't' });
  inbox.isLosing = true;
  inbox.end(0);
  await inbox.settle();
  inbox.isLosing = false;
  inbox.offer({ event: eventOf(40), agent: 'a', trigger: 't' });
  await inbox.settle();
  expect(inbox.started.get('a t')).toHaveLength(TOTAL / 2);
  for (let check = 0; check < 2; check += 1) {
    vi.advanceTimersByTime(1_000);
    await inbox.settle();
  }
  expect(inbox.started.get('a t')?.at(-1)).toBe(40);
  inbox.slots.close();
  vi.useRealTimers();
});
