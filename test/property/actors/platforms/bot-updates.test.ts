// What a bot is told while its gateway is killed, its store is full and its platform numbers anew: nothing is confirmed before
// it is kept, and in the end everything is kept (UL1–UL4).

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UpdateLoop } from '../../../../actors/platforms/botmessenger/update-loop.ts';
import { type Update, Updates } from '../../../fixtures/bot-platform/updates.ts';

type Step =
  | { readonly do: 'say'; readonly count: number }
  | { readonly do: 'kill'; readonly losesOffset: boolean }
  | { readonly do: 'fill'; readonly times: number }
  | { readonly do: 'cut' }
  | { readonly do: 'renumber'; readonly block: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('say' as const), count: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('kill' as const), losesOffset: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('fill' as const), times: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'cut' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('renumber' as const), block: fc.integer({ min: 1, max: 40 }) }),
  },
);

/** A store that outlives processes, a platform, and whatever process there is. */
class World {
  readonly updates = new Updates(20_000);
  readonly kept = new Set<number>();
  readonly said: number[] = [];
  savedOffset: number | undefined;
  #loop: UpdateLoop | undefined;
  #refusals = 0;
  #cuts = 0;
  #process = 0;

  begin(): void {
    const process = ++this.#process;
    const isAlive = () => process === this.#process;
    const loop = new UpdateLoop({
      offset: this.savedOffset,
      rest: () => new Promise((done) => setImmediate(done)),
      source: {
        poll: async (offset, signal) => {
          if (this.#cuts > 0) {
            this.#cuts -= 1;
            throw new Error('cut');
          }
          return this.updates.poll(offset ?? 0, 3, 60_000, signal);
        },
      },
      sink: {
        keep: async (updates) => {
          await Promise.resolve();
          if (!isAlive()) return new Promise(() => {});
          if (this.#refusals > 0) {
            this.#refusals -= 1;
            throw new Error('full');
          }
          for (const { update_id } of updates as Update[]) this.kept.add(update_id);
        },
        saveOffset: async (offset) => {
          if (!isAlive()) return new Promise(() => {});
          this.savedOffset = offset;
        },
        onRefused: () => {},
      },
    });
    this.#loop = loop;
    // What the connection's actor does after a loss.
    loop.run().catch(() => isAlive() && this.begin());
  }

  /** As kill -9: whatever was under way comes to nothing. */
  kill(losesOffset: boolean): void {
    this.#process += 1;
    this.#loop?.end();
    if (losesOffset) this.savedOffset = undefined;
    this.begin();
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'say')
      for (let i = 0; i < step.count; i += 1) this.said.push(this.updates.add('message', {}) ?? 0);
    else if (step.do === 'kill') this.kill(step.losesOffset);
    else if (step.do === 'fill') this.#refusals = step.times;
    else if (step.do === 'cut') this.#cuts = 1;
    else {
      // It numbers anew after a week without anything, when all is confirmed.
      await this.idle();
      const first = step.block * 1_000;
      const isUsed = this.said.some((id) => id >= first && id < first + 1_000);
      if (!isUsed) this.updates.renumber(first);
    }
  }

  /** Until nothing moves any more. */
  async idle(): Promise<void> {
    for (let i = 0; i < 60; i += 1) await new Promise((done) => setImmediate(done));
  }

  get confirmed(): readonly number[] {
    const pending = new Set(this.updates.pending.map(({ update_id }) => update_id));
    return this.said.filter((id) => !pending.has(id));
  }
}

test('nothing is confirmed before it is kept, and everything is kept in the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.integer({ min: 0, max: 6 })), { maxLength: 25 }),
      async (steps) => {
        const world = new World();
        world.begin();
        for (const [each, turns] of steps) {
          await world.take(each);
          for (let i = 0; i < turns; i += 1) await Promise.resolve();
          expect(world.confirmed.filter((id) => !world.kept.has(id))).toEqual([]);
        }
        await world.idle();
        expect([...world.kept].sort()).toEqual([...new Set(world.said)].sort());
        expect(world.updates.pending).toEqual([]);
        world.kill(false);
      },
    ),
    { numRuns: 150 },
  );
});
