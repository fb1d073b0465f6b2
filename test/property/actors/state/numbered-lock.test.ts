// Gateways that start on the same folder. The steps are interleaved in every possible order, with crashes and
// releases in between. The folder is real, the processes are simulated.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LockOutcome, lockSteps } from '../../../../actors/state/numbered-lock.ts';
import { replaceFile } from '../../../../actors/state/small-file.ts';

type Steps = Generator<undefined, LockOutcome, undefined>;

/** Gateways that an operator starts in sequence on the same folder. */
class Starter {
  #life = 0;
  #steps: Steps | undefined;
  path: string | undefined;
  readonly #name: string;
  readonly #folder: string;
  readonly #living: Set<string>;

  constructor(name: string, folder: string, living: Set<string>) {
    this.#name = name;
    this.#folder = folder;
    this.#living = living;
  }

  get isHolder(): boolean {
    return this.path !== undefined;
  }

  /** Continues the start by one step. Returns true when it is complete. */
  step(): boolean {
    if (this.isHolder) return true;
    if (this.#steps === undefined) {
      this.#living.add(this.#text);
      const text = { text: this.#text, short: this.#text };
      this.#steps = lockSteps(this.#folder, text, (text) => this.#living.has(text));
    }
    const { done, value } = this.#steps.next();
    if (done !== true) return false;
    if (value.isAcquired) this.path = value.path;
    else this.die();
    return true;
  }

  die(): void {
    this.#living.delete(this.#text);
    this.#life += 1;
    this.#steps = undefined;
    this.path = undefined;
  }

  release(): void {
    if (this.path !== undefined) replaceFile(this.path, 'released');
    // The process continues briefly, and then exits.
    this.path = undefined;
    this.#steps = undefined;
    this.#life += 1;
  }

  get #text(): string {
    return `${this.#name}.${this.#life}`;
  }
}

const action = fc.record({
  who: fc.nat({ max: 3 }),
  what: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 9 }) },
    { weight: 1, arbitrary: fc.constant('die' as const) },
    { weight: 1, arbitrary: fc.constant('release' as const) },
  ),
});

describe('the numbered lock', () => {
  test('is held by at most one process, and can be acquired whenever no process holds it', () => {
    fc.assert(
      fc.property(fc.array(action, { minLength: 5, maxLength: 60 }), (actions) => {
        const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
        try {
          const living = new Set<string>();
          const starters = ['a', 'b', 'c', 'd'].map((name) => new Starter(name, folder, living));
          const holders = () => starters.filter(({ isHolder }) => isHolder);
          for (const { who, what } of actions) {
            const starter = starters[who];
            if (what === 'die') starter?.die();
            else if (what === 'release') {
              if (starter?.isHolder === true) starter.release();
            } else for (let count = 0; count < what && starter?.step() === false; count += 1);
            expect(holders().length).toBeLessThanOrEqual(1);
          }
          for (const starter of starters) starter.die();
          const last = new Starter('last', folder, living);
          for (let count = 0; count < 200 && !last.step(); count += 1);
          expect(last.isHolder).toBe(true);
          expect(readdirSync(folder)).toHaveLength(1);
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns: 1000 },
    );
  });
});
