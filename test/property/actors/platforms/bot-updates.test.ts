// Polling of bot updates (update-loop.ts). The gateway is killed, the store is full, polls fail, and the
// platform restarts its numbering. An update is confirmed to the platform only after it is stored, and every
// update is stored eventually.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UpdateLoop } from '../../../../actors/platforms/botmessenger/update-loop.ts';
import { type Update, Updates } from '../../../fixtures/bot-platform/updates.ts';

type Step =
  /** Adds new updates. */
  | { readonly do: 'say'; readonly count: number }
  /** Kills the gateway, possibly before the offset was saved. */
  | { readonly do: 'kill'; readonly losesOffset: boolean }
  /** The store refuses the next updates. */
  | { readonly do: 'fill'; readonly times: number }
  /** The next poll fails. */
  | { readonly do: 'cut' }
  /** Continues with the ids from `block` × 1,000. */
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

/** A store that outlives processes, a platform, and the current process. */
class World {
  readonly updates = new Updates(20_000);
  readonly stored = new Set<number>();
  readonly updateIds: number[] = [];
  savedOffset: number | undefined;
  #loop: UpdateLoop | undefined;
  #refusals = 0;
  #cuts = 0;
  /** Number of the current process. Earlier processes are dead. */
  #process = 0;

  start(): void {
    const process = ++this.#process;
    const isAlive = () => process === this.#process;
    const loop = new UpdateLoop({
      offset: this.savedOffset,
      wait: () => new Promise((done) => setImmediate(done)),
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
        store: async (updates) => {
          await Promise.resolve();
          if (!isAlive()) return new Promise(() => {});
          if (this.#refusals > 0) {
            this.#refusals -= 1;
            throw new Error('full');
          }
          for (const { update_id } of updates as Update[]) this.stored.add(update_id);
        },
        saveOffset: async (offset) => {
          if (!isAlive()) return new Promise(() => {});
          this.savedOffset = offset;
        },
        onStoreFailure: () => {},
      },
    });
    this.#loop = loop;
    // The connection actor restarts a failed loop in the same way.
    loop.run().catch(() => isAlive() && this.start());
  }

  /** Like kill -9: pending operations have no effect. */
  kill(losesOffset: boolean): void {
    this.#process += 1;
    this.#loop?.end();
    if (losesOffset) this.savedOffset = undefined;
    this.start();
  }

  async apply(step: Step): Promise<void> {
    if (step.do === 'say')
      for (let i = 0; i < step.count; i += 1) this.updateIds.push(this.updates.add('message', {}) ?? 0);
    else if (step.do === 'kill') this.kill(step.losesOffset);
    else if (step.do === 'fill') this.#refusals = step.times;
    else if (step.do === 'cut') this.#cuts = 1;
    else {
      // The platform restarts the numbering after a week without updates, when all are confirmed.
      await this.idle();
      const first = step.block * 1_000;
      const isUsed = this.updateIds.some((id) => id >= first && id < first + 1_000);
      if (!isUsed) this.updates.renumber(first);
    }
  }

  /** Resolves when all pending work is done. */
  async idle(): Promise<void> {
    for (let i = 0; i < 60; i += 1) await new Promise((done) => setImmediate(done));
  }

  get confirmed(): readonly number[] {
    const pending = new Set(this.updates.pending.map(({ update_id }) => update_id));
    return this.updateIds.filter((id) => !pending.has(id));
  }
}

test('polled updates are confirmed to the platform only after they are stored, and every update is stored', async () => {
  await fc.assert(
    fc.asyncProperty(
      // Steps, each with the number of following promise turns.
      fc.array(fc.tuple(step, fc.integer({ min: 0, max: 6 })), { maxLength: 25 }),
      async (steps) => {
        const world = new World();
        world.start();
        for (const [each, turns] of steps) {
          await world.apply(each);
          for (let i = 0; i < turns; i += 1) await Promise.resolve();
          expect(world.confirmed.filter((id) => !world.stored.has(id))).toEqual([]);
        }
        await world.idle();
        expect([...world.stored].sort()).toEqual([...new Set(world.updateIds)].sort());
        expect(world.updates.pending).toEqual([]);
        // Stops the running poll.
        world.kill(false);
      },
    ),
    { numRuns: 150 },
  );
});
