// Places under any order of arrivals, ends and looks: the bounds hold, nobody takes all, and nothing waits for ever.

import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { type Place, WorkPlaces } from '../../../actors/events/inbox/work-places.ts';
import type { StoredEvent } from '../../../actors/store/event.ts';

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

interface Waiting {
  readonly event: StoredEvent;
  readonly whom: string;
  readonly trigger: string;
}

/** A store that gives what is let go at once, and those that work with it. */
class World {
  readonly held = new Map<string, Waiting[]>();
  readonly running: (Waiting & { readonly place: Place })[] = [];
  readonly ended: number[] = [];
  /** What is let go does not come. */
  isLosing = false;
  /** In the order in which they were given a place, by agent and trigger. */
  readonly given = new Map<string, number[]>();
  readonly places = new WorkPlaces({
    places: TOTAL,
    bytes: BYTES,
    release: async (name, max = Number.POSITIVE_INFINITY) => {
      const all = (this.held.get(name) ?? []).sort((a, b) => a.event.seq - b.event.seq);
      const free = all.splice(0, max);
      if (this.isLosing) return free.length;
      // They are claimed a little later.
      setImmediate(() => {
        for (const waiting of free) this.offer(waiting);
      });
      return free.length;
    },
  });

  offer(waiting: Waiting): void {
    const { whom, trigger, event } = waiting;
    const place = this.places.take(whom, trigger, event);
    if (typeof place === 'string') {
      const held = this.held.get(place) ?? [];
      this.held.set(place, [...held, waiting]);
      expect(this.places.onHeld(place)).toBe(true);
      return;
    }
    this.running.push({ ...waiting, place });
    const name = `${whom} ${trigger}`;
    this.given.set(name, [...(this.given.get(name) ?? []), event.seq]);
    const bytes = this.running.reduce((sum, each) => sum + Math.min(each.event.body.length, BYTES >> 2), 0);
    expect(this.running.length).toBeLessThanOrEqual(TOTAL);
    expect(bytes).toBeLessThanOrEqual(BYTES);
    for (const of of ['whom', 'trigger'] as const) {
      const own = this.running.filter((each) => each[of] === waiting[of]).length;
      expect(own).toBeLessThanOrEqual(TOTAL / 2);
    }
  }

  end(index: number): void {
    const [run] = this.running.splice(index, 1);
    if (run === undefined) return;
    this.ended.push(run.event.seq);
    run.place.end();
  }

  /** Lets everything happen that was set off. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

const arrival = fc.record({
  whom: fc.constantFrom('a', 'b', 'c'),
  trigger: fc.constantFrom('t', 'u'),
  bytes: fc.constantFrom(0, 0, 0, 10, 200, 900),
});
const steps = fc.array(fc.oneof(arrival, arrival, fc.nat({ max: 20 })), { maxLength: 80 });

test('whatever comes and ends: never more than there are, nobody more than half, everything has its turn (PC1, PC2)', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const world = new World();
      let seq = 0;
      for (const step of all) {
        if (typeof step === 'number') world.end(step % Math.max(1, world.running.length));
        else world.offer({ event: eventOf(++seq, step.bytes), whom: step.whom, trigger: step.trigger });
        if (seq % 7 === 0) await world.settle();
      }
      for (let round = 0; world.ended.length < seq; round += 1) {
        if (round > 10 * seq) throw new Error(`${seq - world.ended.length} have not had their turn`);
        world.end(0);
        await world.settle();
      }
      world.places.close();
    }),
    { numRuns: 300 },
  );
});

test('of one agent and trigger what waits is let go in the order in which it came, and what comes later waits behind it (PC3)', async () => {
  const world = new World();
  for (let seq = 1; seq <= 40; seq += 1) world.offer({ event: eventOf(seq), whom: 'a', trigger: 't' });
  expect(world.running).toHaveLength(TOTAL / 2);
  for (let seq = 41; world.ended.length < 60; seq += 1) {
    world.end(0);
    if (seq <= 60) world.offer({ event: eventOf(seq), whom: 'a', trigger: 't' });
    await world.settle();
  }
  const given = world.given.get('a t') ?? [];
  expect(given).toEqual(given.toSorted((a, b) => a - b));
  world.places.close();
});

test('a second trigger of an agent that has all its places gets the next that is free, however many wait before it', async () => {
  const world = new World();
  for (let seq = 1; seq <= 40; seq += 1) world.offer({ event: eventOf(seq), whom: 'a', trigger: 't' });
  world.offer({ event: eventOf(41), whom: 'a', trigger: 'u' });
  expect(world.given.get('a u')).toBeUndefined();
  world.end(0);
  await world.settle();
  expect(world.given.get('a u')).toEqual([41]);
  world.places.close();
});

test('what waits is let go to be judged anew when agents and triggers may be others', async () => {
  const world = new World();
  for (let seq = 1; seq <= 10; seq += 1) world.offer({ event: eventOf(seq), whom: 'a', trigger: 't' });
  const before = [...world.held.values()].flat().length;
  expect(before).toBe(10 - TOTAL / 2);
  for (const list of world.held.values())
    for (const [n, waiting] of list.entries()) list[n] = { ...waiting, whom: 'b', trigger: 'u' };
  world.places.judgeAnew();
  await world.settle();
  expect(world.given.get('b u')).toEqual([7, 8, 9]);
  world.places.close();
});

test('what was let go and does not come keeps its place from others for two looks at most (PC4)', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const world = new World();
  for (let seq = 1; seq <= TOTAL / 2 + 1; seq += 1)
    world.offer({ event: eventOf(seq), whom: 'a', trigger: 't' });
  world.isLosing = true;
  world.end(0);
  await world.settle();
  world.isLosing = false;
  world.offer({ event: eventOf(40), whom: 'a', trigger: 't' });
  await world.settle();
  expect(world.given.get('a t')).toHaveLength(TOTAL / 2);
  for (let look = 0; look < 2; look += 1) {
    vi.advanceTimersByTime(1_000);
    await world.settle();
  }
  expect(world.given.get('a t')?.at(-1)).toBe(40);
  world.places.close();
  vi.useRealTimers();
});
